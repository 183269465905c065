import type { ReactNode } from "react";
import { may } from "../../hub/base/principal.ts";
import { Layout } from "./layout.tsx";
import { KIND_NAMES } from "./parts.tsx";
import { pagePaths, type TargetKind, useView } from "./view.ts";

const OVERVIEW = "Overview";

interface Target {
  kind: TargetKind;
  slug: string;
  name: string;
  /** Whether the visitor's key acts on the target. */
  isControlled: boolean;
  /** Title of the active tab. Default: the overview. */
  at?: string;
  /** Sentence below the name. */
  lead?: ReactNode;
  children: ReactNode;
}

/** Page about a plugin, service or project, with links to its other pages. */
export function TargetLayout({ kind, slug, name, isControlled, at = OVERVIEW, lead, children }: Target) {
  const { base, principal, tabs } = useView();
  const open = tabs.filter(
    ({ kinds, isFor }) => kinds.includes(kind) && principal !== undefined && isFor(principal, isControlled),
  );
  const links = [
    { title: OVERVIEW, to: pagePaths.target(kind, slug) },
    ...(principal !== undefined && may(principal, "read") ? [{ title: "Fleet", to: pagePaths.fleet(kind, slug) }] : []),
    ...open.map(({ title, path }) => ({ title, to: path(kind, slug) })),
  ];
  return (
    <Layout title={at === OVERVIEW ? name : `${name}: ${at.toLowerCase()}`}>
      <header className="target-head">
        <p className="kind">{KIND_NAMES[kind]}</p>
        <h1>{name}</h1>
        <p className="slug">{slug}</p>
        {lead}
        {principal !== undefined && (
          <nav className="tabs" aria-label={name}>
            {links.map(({ title, to }) => (
              <a key={title} href={base + to} aria-current={title === at ? "page" : undefined}>
                {title}
              </a>
            ))}
          </nav>
        )}
      </header>
      {children}
    </Layout>
  );
}
