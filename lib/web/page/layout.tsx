import type { ReactNode } from "react";
import { Form } from "./forms.tsx";
import { Go } from "./parts.tsx";
import { type NavigationLink, pagePaths, useView } from "./view.ts";

/** Frame of every page. */
export function Layout({
  title,
  goOn,
  children,
}: {
  title: string;
  /** Path that the page goes to by itself. */
  goOn?: string;
  children: ReactNode;
}) {
  const { base, path, principal, links, assets } = useView();
  const isHere = (to: string) =>
    to === "/" ? path === "/" || /^\/(plugin|service)s\//.test(path) : path === to || path.startsWith(`${to}/`);
  const linkTo = ({ title: name, path: to }: NavigationLink) => (
    <a key={to} href={base + to} aria-current={isHere(to) ? "page" : undefined}>
      {name}
    </a>
  );
  const [first, more] = [links.filter(({ isFirst }) => isFirst === true), links.filter(({ isFirst }) => !isFirst)];
  return (
    <html lang="en">
      <head>
        <meta charSet="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        {goOn !== undefined && <meta httpEquiv="refresh" content={`0;url=${base + goOn}`} />}
        <title>{title === "" ? "Sealift" : `${title} · Sealift`}</title>
        <link rel="stylesheet" href={base + assets.style} />
        <link rel="icon" type="image/svg+xml" href={base + assets.icon} />
        <script defer src={base + assets.script} />
      </head>
      <body>
        <a className="skip unseen" href="#main">
          Skip to the content
        </a>
        <header className="top">
          <div className="wide">
            <a className="brand" href={`${base}/`}>
              <svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true">
                <path d="M3 14h18l-3 6H6zM7 14V9h4v5M13 14V5h4v9" />
              </svg>
              Sealift
            </a>
            {principal !== undefined && (
              <>
                {/* On a phone, the links beside it move below it once it is open. */}
                <details className="menu">
                  <summary>Menu</summary>
                </details>
                <nav aria-label="Hub">
                  {first.map(linkTo)}
                  {more.length > 0 && (
                    <details className="more">
                      <summary className={more.some(({ path: to }) => isHere(to)) ? "here" : undefined}>More</summary>
                      <div>{more.map(linkTo)}</div>
                    </details>
                  )}
                </nav>
              </>
            )}
            {principal === undefined ? (
              path !== pagePaths.signIn() && (
                <Go to={pagePaths.signIn()} className="who">
                  Sign in
                </Go>
              )
            ) : (
              <Form to={pagePaths.signOut()} className="who">
                <span title={`key ${principal.keyId}`}>{principal.owner}</span>
                <button className="plain">Sign out</button>
              </Form>
            )}
          </div>
        </header>
        <main id="main" className="wide" tabIndex={-1}>
          {children}
        </main>
        <footer className="wide">
          <p>
            <span data-zone="">Times are in UTC.</span>
          </p>
        </footer>
        <p className="unseen" role="status" id="news"></p>
      </body>
    </html>
  );
}
