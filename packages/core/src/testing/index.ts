// For tests of tools, stores and runners.
export { FakeClock, settle } from "./fake-clock.js";
