/**
 * `node --import ./scripts/typescript.mjs FILE.ts` runs benchmarks and examples as they stand: Node 20 cannot strip
 * types by itself. What they import from our packages is the built code, as a user gets it; types are checked by
 * `npm run check`, not here.
 */
import { register } from "node:module";

register("./typescript-hooks.mjs", import.meta.url);
process.setSourceMapsEnabled(true);
