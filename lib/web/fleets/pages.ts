import { type Page, pagesOf } from "../features/feature.ts";
import { TARGET_KINDS } from "../page/view.ts";

const { get } = pagesOf(() => import("./fleet-screens.tsx"));
const ofApplications = pagesOf(() => import("./application-screens.tsx"));
const ofHosts = pagesOf(() => import("./host-screens.tsx"));

/** Pages of fleets and their hosts. */
export const fleetPages: readonly Page[] = [
  get("/fleets", ({ allFleets }) => allFleets),
  ofApplications.get("/projects/:slug/applications", ({ applications }) => applications),
  ...TARGET_KINDS.flatMap((kind) => [
    get(`/${kind}s/:slug/fleet`, ({ fleet }) => fleet(kind)),
    ofHosts.get(`/${kind}s/:slug/fleet/:host`, ({ host }) => host(kind)),
    ofHosts.post(`/${kind}s/:slug/fleet/:host/forget`, ({ forget }) => forget(kind)),
    ofHosts.post(`/${kind}s/:slug/fleet/:host/service`, ({ serveHost }) => serveHost(kind)),
  ]),
];
