import { isAdministrator, may, type Principal } from "../../hub/base/principal.ts";
import { pagePaths, type Way } from "./view.ts";

const way = (title: string, path: string, isFor: (principal: Principal) => boolean) => ({ title, path, isFor });

const FIRST = [
  way("Catalogue", pagePaths.home(), () => true),
  way("Fleets", pagePaths.fleets(), (principal) => may(principal, "read")),
  way("Projects", pagePaths.projects(), (principal) => may(principal, "projects", "read")),
  way("Keys", pagePaths.keys(), (principal) => may(principal, "keys")),
];
const LAST = [way("Audit", pagePaths.audit(), isAdministrator), way("Hub", pagePaths.health(), isAdministrator)];

/** Returns the links for a key. @param ofFeatures links to pages of features */
export const waysOf = (principal: Principal | undefined, ofFeatures: typeof FIRST): readonly Way[] =>
  principal === undefined ? [] : [...FIRST, ...ofFeatures, ...LAST].filter(({ isFor }) => isFor(principal));
