/** A Jupyter Server of our own, for when there is none to connect to. */

export { type EnvironmentOptions, ensureEnvironment } from "./environment.js";
export { PrivateServerError, type PrivateServerErrorCode } from "./errors.js";
export { type LaunchedServer, type LaunchOptions, launchServer, type ServerInfo, stopServer } from "./launch.js";
