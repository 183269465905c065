import { type Page, pagesOf } from "../features/feature.ts";
import { TARGET_KINDS } from "../page/view.ts";

const ofCatalogue = pagesOf(() => import("./catalogue-screens.tsx"));
const { get, post } = pagesOf(() => import("./target-screens.tsx"));
const ofProjects = pagesOf(() => import("./project-screens.tsx"));

/** Pages of the catalogue, and of plugins, services and projects. */
export const cataloguePages: readonly Page[] = [
  ofCatalogue.get("/", ({ catalogue }) => catalogue),
  ...(["plugin", "service"] as const).flatMap((kind) => [
    { ...get(`/${kind}s/:slug`, ({ target }) => target(kind)), isPublic: true },
    get(`/${kind}s/:slug/compare`, ({ compare }) => compare(kind)),
  ]),
  ofProjects.get("/projects", ({ projects }) => projects),
  ofProjects.post("/projects", (screens) => screens.createProject),
  ofProjects.get("/projects/:slug", ({ project }) => project),
  ...TARGET_KINDS.flatMap((kind) => [
    post(`/${kind}s/:slug/yank`, ({ yank }) => yank(kind, "yank")),
    post(`/${kind}s/:slug/unyank`, ({ yank }) => yank(kind, "unyank")),
    post(`/${kind}s/:slug/release`, ({ release }) => release(kind)),
  ]),
];
