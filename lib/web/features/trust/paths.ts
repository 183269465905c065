import { pagePaths, type TargetKind } from "../../page/view.ts";

export const trustPath = (kind: TargetKind, slug: string): string => `${pagePaths.target(kind, slug)}/trust`;
