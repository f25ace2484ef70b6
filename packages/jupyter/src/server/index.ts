/** A Jupyter Server of our own, for when there is none to connect to. */

export { type EnvironmentOptions, ensureEnvironment } from "./environment.js";
export { PrivateServerError, type PrivateServerErrorCode } from "./errors.js";
export { findJupyter, type JupyterCommand } from "./find-python.js";
export { type LaunchedServer, type LaunchOptions, launchServer, type ServerInfo, stopServer } from "./launch.js";
export {
  JUPYTER_REQUIREMENTS,
  PrivateServer,
  type PrivateServerOptions,
  startPrivateServer,
} from "./private-server.js";
