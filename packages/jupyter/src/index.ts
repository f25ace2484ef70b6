// What this package promises. Adding a line here is a decision.
export type { JupyterServer, JupyterServerOptions } from "./jupyter-server.js";
export { createJupyterServer } from "./jupyter-server.js";
export { JupyterError, type JupyterErrorCode } from "./kernel/errors.js";
export { PrivateServerError, type PrivateServerErrorCode } from "./server/errors.js";
