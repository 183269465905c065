import { may } from "../../../hub/base/principal.ts";
import { TARGET_KINDS } from "../../page/view.ts";
import { pagesOf, type WebFeature } from "../feature.ts";
import { rolloutsPath } from "./paths.ts";

const { get, post } = pagesOf(() => import("./screens.tsx"));

export const rollouts: WebFeature = {
  name: "rollouts",
  tabs: [
    {
      title: "Rollouts",
      kinds: TARGET_KINDS,
      path: rolloutsPath,
      isFor: (principal, isControlled) => isControlled && may(principal, "read", "publish", "projects"),
    },
  ],
  pages: TARGET_KINDS.flatMap((kind) => [
    get(`/${kind}s/:slug/rollouts`, (screens) => screens.rollouts(kind)),
    post(`/${kind}s/:slug/rollouts`, ({ startRollout }) => startRollout(kind)),
    post(`/${kind}s/:slug/rollouts/:rollout/:action`, ({ actOnRollout }) => actOnRollout(kind)),
  ]),
};
