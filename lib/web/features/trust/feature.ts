import { may } from "../../../hub/base/principal.ts";
import { TARGET_KINDS } from "../../page/view.ts";
import { pagesOf, type WebFeature } from "../feature.ts";
import { trustPath } from "./paths.ts";

const { get } = pagesOf(() => import("./screens.tsx"));

export const trust: WebFeature = {
  name: "trust",
  tabs: [
    {
      title: "Trust",
      kinds: TARGET_KINDS,
      path: trustPath,
      isFor: (principal, isControlled) => isControlled && may(principal, "read", "projects", "publish"),
    },
  ],
  pages: TARGET_KINDS.map((kind) => get(`/${kind}s/:slug/trust`, (screens) => screens.trust(kind))),
};
