import type { InstalledPackage } from "../../artifact/packages/installed-packages.ts";

/** Lists the packages and their licences, for people. */
export const licenceNotice = (packages: readonly InstalledPackage[]): string =>
  [
    "Packages of npm in this archive, with the licence that each of them names. Its text is in the package's folder.\n",
    ...packages.map(({ path, name, version, license }) => `${name} ${version}: ${license || "not named"} (${path})`),
    "",
  ].join("\n");
