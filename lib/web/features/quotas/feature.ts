import { pagesOf, type WebFeature } from "../feature.ts";
import { quotasPath } from "./paths.ts";

const { get } = pagesOf(() => import("./screens.tsx"));

export const quotas: WebFeature = {
  name: "quotas",
  links: [{ ...{ title: "Quotas", path: quotasPath }, isFor: () => true }],
  pages: [get(quotasPath, (screens) => screens.quotas)],
};
