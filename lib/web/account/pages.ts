import { type Page, pagesOf } from "../features/feature.ts";
import { pagePaths } from "../page/view.ts";

const signing = pagesOf(() => import("./sign-in-screens.tsx"));
const ofKeys = pagesOf(() => import("./keys-screens.tsx"));
const operating = pagesOf(() => import("./operator-screens.tsx"));
const open = (page: Page): Page => ({ ...page, isPublic: true });

/** Pages of signing in and out, keys, and what operators see. */
export const accountPages: readonly Page[] = [
  open(signing.get(pagePaths.signIn(), ({ askForKey }) => askForKey)),
  open(signing.post(pagePaths.signIn(), ({ signIn }) => signIn)),
  open(signing.get(pagePaths.signOn(), ({ beginSignOn }) => beginSignOn)),
  open(signing.get(pagePaths.signedOn(), ({ finishSignOn }) => finishSignOn)),
  signing.post(pagePaths.signOut(), ({ signOut }) => signOut),
  ofKeys.get("/keys", ({ keys }) => keys),
  ofKeys.post("/keys", ({ createKey }) => createKey),
  ofKeys.post("/keys/:id/revoke", ({ revokeKey }) => revokeKey),
  operating.get("/audit", ({ audit }) => audit),
  operating.get("/hub", ({ health }) => health),
];
