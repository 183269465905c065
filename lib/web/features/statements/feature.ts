import { may } from "../../../hub/base/principal.ts";
import { TARGET_KINDS } from "../../page/view.ts";
import { pagesOf, type WebFeature } from "../feature.ts";
import { statementsPath } from "./paths.ts";

const { get } = pagesOf(() => import("./screens.tsx"));

export const statements: WebFeature = {
  name: "statements",
  tabs: [
    {
      title: "Statements",
      kinds: TARGET_KINDS,
      path: statementsPath,
      isFor: (principal) => may(principal, "deploy", "read", "publish", "stage", "projects"),
    },
  ],
  pages: TARGET_KINDS.map((kind) => get(`/${kind}s/:slug/statements`, (screens) => screens.statements(kind))),
};
