import { flag, path } from "./kinds.ts";
import { group } from "./option.ts";

/** Options of `systemd install`. */
export const systemd = group("Units", {
  projectRoot: path({ help: "What the watch deploys into and the runtime runs", default: "/srv/sealift" }),
  root: path({ help: "Write below this folder, for images that are being built", default: "/" }),
  dryRun: flag({ help: "Print the files, write nothing" }),
  force: flag({ help: "Replace files that were edited" }),
});
