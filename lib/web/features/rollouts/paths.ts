import { pagePaths, type TargetKind } from "../../page/view.ts";

export const rolloutsPath = (kind: TargetKind, slug: string): string => `${pagePaths.target(kind, slug)}/rollouts`;
