import { may } from "../../../hub/base/principal.ts";
import { TARGET_KINDS } from "../../page/view.ts";
import { pagesOf, type WebFeature } from "../feature.ts";
import { kitsPath } from "./paths.ts";

const { get, post } = pagesOf(() => import("./screens.tsx"));

export const kits: WebFeature = {
  name: "kits",
  tabs: [
    {
      title: "Kits",
      kinds: TARGET_KINDS,
      path: kitsPath,
      isFor: (principal, isControlled) => isControlled && may(principal, "deploy", "read"),
    },
  ],
  pages: TARGET_KINDS.flatMap((kind) => [
    get(`/${kind}s/:slug/kits`, (screens) => screens.kits(kind)),
    post(`/${kind}s/:slug/kits/:kit/end`, (screens) => screens.endKit(kind)),
  ]),
};
