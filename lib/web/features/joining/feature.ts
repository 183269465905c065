import { may } from "../../../hub/base/principal.ts";
import { pagesOf, type WebFeature } from "../feature.ts";
import { hostsPath } from "./paths.ts";

const { get, post } = pagesOf(() => import("./screens.tsx"));
const ofInvites = pagesOf(() => import("./invites.tsx"));

export const joining: WebFeature = {
  name: "joining",
  tabs: [
    {
      title: "Hosts",
      kinds: ["project"],
      path: (_kind, slug) => hostsPath(slug),
      isFor: (principal, isControlled) => isControlled && may(principal, "keys", "read"),
    },
  ],
  pages: [
    get("/projects/:slug/hosts", ({ joinedHosts }) => joinedHosts("project")),
    ofInvites.post("/projects/:slug/hosts/invites", ({ inviteHosts }) => inviteHosts("project")),
    ofInvites.post("/projects/:slug/hosts/invites/:invite/revoke", ({ revokeInvite }) => revokeInvite),
    post("/projects/:slug/hosts/:host/approve", ({ approveHost }) => approveHost),
    post("/projects/:slug/hosts/:host/rename", ({ renameHost }) => renameHost),
    post("/projects/:slug/hosts/:host/remove", ({ removeHost }) => removeHost),
  ],
};
