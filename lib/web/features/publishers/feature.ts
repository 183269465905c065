import { may } from "../../../hub/base/principal.ts";
import { pagesOf, type WebFeature } from "../feature.ts";
import { publishersPath } from "./paths.ts";

const { get, post } = pagesOf(() => import("./screens.tsx"));

export const publishers: WebFeature = {
  name: "publishers",
  links: [{ ...{ title: "Publishers", path: publishersPath }, isFor: (principal) => may(principal, "keys") }],
  pages: [
    get("/publishers", (screens) => screens.publishers),
    post("/publishers", ({ addPublisher }) => addPublisher),
    post("/publishers/:publisher/remove", ({ removePublisher }) => removePublisher),
  ],
};
