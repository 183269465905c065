import { may } from "../../../hub/ground/principal.ts";
import { pagesOf, type WebFeature } from "../feature.ts";
import { stagingPath } from "./paths.ts";

const { get, post } = pagesOf(() => import("./screens.tsx"));

export const staging: WebFeature = {
  name: "staging",
  ways: [{ ...{ title: "Approvals", path: stagingPath }, isFor: (principal) => may(principal, "publish", "stage") }],
  pages: [
    get("/staging", (screens) => screens.staging),
    get("/staging/:id/:version", ({ staged }) => staged),
    post("/staging/:id/:version/approve", ({ approve }) => approve),
    post("/staging/:id/:version/reject", ({ reject }) => reject),
  ],
};
