import { may } from "../../../hub/base/principal.ts";
import { TARGET_KINDS } from "../../page/view.ts";
import { pagesOf, type WebFeature } from "../feature.ts";
import { approvalPath, stagingPath } from "./paths.ts";

const { get, post } = pagesOf(() => import("./screens.tsx"));
const ofApproval = pagesOf(() => import("./approval-screens.tsx"));

export const staging: WebFeature = {
  name: "staging",
  links: [
    {
      title: "Approvals",
      path: stagingPath,
      isFirst: true,
      isFor: (principal) => may(principal, "publish", "stage"),
    },
  ],
  tabs: [
    {
      title: "Approval",
      kinds: TARGET_KINDS,
      path: approvalPath,
      isFor: (principal, isControlled) => isControlled && may(principal, "read", "projects", "publish"),
    },
  ],
  pages: [
    get("/staging", (screens) => screens.staging),
    get("/staging/:id/:version", ({ staged }) => staged),
    post("/staging/:id/:version/approve", ({ approve }) => approve),
    post("/staging/:id/:version/reject", ({ reject }) => reject),
    ...TARGET_KINDS.flatMap((kind) => [
      ofApproval.get(`/${kind}s/:slug/approval`, ({ approval }) => approval(kind)),
      ofApproval.post(`/${kind}s/:slug/approval`, ({ requireApproval }) => requireApproval(kind)),
    ]),
  ],
};
