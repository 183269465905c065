import { isAdministrator, may, type Principal } from "../../hub/base/principal.ts";
import { type NavigationLink, pagePaths } from "./view.ts";

type Link = NavigationLink & { isFor: (principal: Principal) => boolean };

const link = (title: string, path: string, isFor: Link["isFor"], isFirst = false): Link => ({
  ...{ title, path, isFor, isFirst },
});

const FIRST = [
  link("Catalogue", pagePaths.home(), () => true, true),
  link("Fleets", pagePaths.fleets(), (principal) => may(principal, "read"), true),
  link("Projects", pagePaths.projects(), (principal) => may(principal, "projects", "read"), true),
  link("Keys", pagePaths.keys(), (principal) => may(principal, "keys"), true),
];
const LAST = [link("Audit", pagePaths.audit(), isAdministrator), link("Hub", pagePaths.health(), isAdministrator)];

/** Returns the links for a key. @param ofFeatures links to pages of features */
export const linksFor = (principal: Principal | undefined, ofFeatures: readonly Link[]): readonly NavigationLink[] =>
  principal === undefined ? [] : [...FIRST, ...ofFeatures, ...LAST].filter(({ isFor }) => isFor(principal));
