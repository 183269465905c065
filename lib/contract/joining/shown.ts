import type { ListFacts } from "../facts/list-facts.ts";
import { labelsText } from "../labels.ts";
import type { InviteRecord, JoinedHost } from "./records.ts";

/** Facts of a list of invites. */
export const INVITE_FACTS = {
  id: { title: "Invite", text: ({ id }) => id },
  state: { title: "State", text: ({ state }) => state },
  uses: { title: "Hosts", text: ({ used, uses }) => `${used} of ${uses}`, column: "num" },
  expires_at: { title: "Until", at: ({ expires_at: at }) => at, none: "" },
  approve: { title: "Approval", text: ({ approve }) => (approve ? "needed" : "") },
  labels: { title: "Labels", text: ({ labels }) => labelsText(labels) },
} as const satisfies ListFacts<InviteRecord>;

const STATES: Record<JoinedHost["state"], string> = {
  pending: "waits for approval",
  approved: "approved",
  joined: "joined",
  ended: "its key has ended",
};

/** Facts of a list of hosts that have joined, or wait for approval. */
export const JOINED_FACTS = {
  host_id: { title: "Host", text: ({ host_id: host }) => host },
  state: { title: "State", text: ({ state }) => STATES[state] },
  version: { title: "Version", text: ({ version }) => version ?? "", column: "num" },
  heard_at: { title: "Last heard", at: ({ heard_at: at }) => at, none: "never" },
  created_at: { title: "Joined", at: ({ created_at: at }) => at, none: "" },
  address: { title: "From", text: ({ address }) => address, only: "command" },
  labels: { title: "Labels", text: ({ labels }) => labelsText(labels) },
  invite_id: { title: "Invite", text: ({ invite_id: invite }) => invite ?? "", only: "command" },
} as const satisfies ListFacts<JoinedHost>;
