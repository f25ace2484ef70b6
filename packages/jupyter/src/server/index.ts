/** A Jupyter Server of our own, for when there is none to connect to. */

export { ensureEnvironment } from "./environment.js";
export { type LaunchedServer, type LaunchOptions, launchServer, stopServer } from "./launch.js";
export {
  JUPYTER_REQUIREMENTS,
  PrivateServer,
  type PrivateServerOptions,
  startPrivateServer,
} from "./private-server.js";
