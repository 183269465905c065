import { pagePaths, type TargetKind } from "../../page/view.ts";

export const stagingPath = "/staging";
export const stagedPath = (id: string, version: string): string =>
  `${stagingPath}/${encodeURIComponent(id)}/${encodeURIComponent(version)}`;
export const approvalPath = (kind: TargetKind, slug: string): string => `${pagePaths.target(kind, slug)}/approval`;
