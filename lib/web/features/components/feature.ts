import { may } from "../../../hub/base/principal.ts";
import { pagesOf, type WebFeature } from "../feature.ts";
import { componentsPath } from "./paths.ts";

const { get } = pagesOf(() => import("./screens.tsx"));

export const components: WebFeature = {
  name: "components",
  links: [{ ...{ title: "Components", path: componentsPath }, isFor: (principal) => may(principal, "read") }],
  pages: [get(componentsPath, (screens) => screens.components)],
};
