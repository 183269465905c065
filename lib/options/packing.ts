import { flag, list } from "./kinds.ts";
import { limits } from "./limits.ts";
import { group } from "./option.ts";
import { platform } from "./platform.ts";

const { maxRatio: _ratio, ...treeLimits } = limits;

/** Options that say what of a source tree is packed: of a publication, and of a trial, which packs as it does. */
export const packing = {
  ...group("Publication", {
    include: list(
      { metavar: "PATTERN", help: "Bring back what is never packed; may be repeated" },
      (pattern) => pattern,
    ),
    appPackages: flag({ help: "Pack the npm packages of applications by their lock files", default: true }),
    withDependencies: flag({ help: "Pack the installed npm packages of plugins and services, too" }),
    platform,
  }),
  ...treeLimits,
};
