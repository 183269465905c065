import { isAdministrator, may, type Principal } from "../../hub/base/principal.ts";
import { type NavigationLink, pagePaths } from "./view.ts";

const link = (title: string, path: string, isFor: (principal: Principal) => boolean) => ({ title, path, isFor });

const FIRST = [
  link("Catalogue", pagePaths.home(), () => true),
  link("Fleets", pagePaths.fleets(), (principal) => may(principal, "read")),
  link("Projects", pagePaths.projects(), (principal) => may(principal, "projects", "read")),
  link("Keys", pagePaths.keys(), (principal) => may(principal, "keys")),
];
const LAST = [link("Audit", pagePaths.audit(), isAdministrator), link("Hub", pagePaths.health(), isAdministrator)];

/** Returns the links for a key. @param ofFeatures links to pages of features */
export const linksFor = (principal: Principal | undefined, ofFeatures: typeof FIRST): readonly NavigationLink[] =>
  principal === undefined ? [] : [...FIRST, ...ofFeatures, ...LAST].filter(({ isFor }) => isFor(principal));
