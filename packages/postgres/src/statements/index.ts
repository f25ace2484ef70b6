/**
 * Every statement that the store sends once it is open, each with its promise. Each is one statement in a
 * transaction of its own, so what it promises holds however many processes run it at once (READ COMMITTED).
 */
export { CREATE, CREATE_WITH_KEY } from "./create.js";
export { EXISTS } from "./exists.js";
export { FIND_BY_KEY } from "./find-by-key.js";
export { GET } from "./get.js";
export { type ListShape, listStatement } from "./list.js";
export { READ_CLOCK } from "./read-clock.js";
export { SWEEP } from "./sweep.js";
export { updateStatement } from "./update.js";
