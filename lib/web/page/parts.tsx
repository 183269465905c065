import type { ReactElement, ReactNode } from "react";
import { sizeText } from "../../support/size-text.ts";
import { useView, withQuery } from "./view.ts";

/** Small parts of pages. */

export type Tone = "good" | "bad" | "warn" | "calm" | "busy";

/** Link to a page of this hub. */
export function Go({ to, children, className }: { to: string; children: ReactNode; className?: string }) {
  const { base } = useView();
  return (
    <a href={base + to} className={className}>
      {children}
    </a>
  );
}

const HTTP = /^https?:\/\//i;

/** Link to another site; its address as text when a browser should not open it. */
export function Away({ href, children }: { href: string; children?: ReactNode }) {
  if (!HTTP.test(href)) return <>{children ?? href}</>;
  return (
    <a href={href} rel="noopener noreferrer nofollow ugc">
      {children ?? href.replace(/^https?:\/\//i, "").replace(/\/$/, "")}
    </a>
  );
}

/** Time in UTC, which the script shows in the reader's own zone. */
export function Time({
  at,
  none = "unknown",
  hasSeconds = false,
}: {
  at: string | number | null | undefined;
  none?: string;
  hasSeconds?: boolean;
}) {
  const time = at === null || at === undefined ? Number.NaN : new Date(at).getTime();
  if (Number.isNaN(time)) return none === "" ? null : <span className="faint">{none}</span>;
  const iso = new Date(time).toISOString();
  return (
    <time dateTime={iso} title={iso} data-seconds={hasSeconds ? "" : undefined}>
      {`${iso.slice(0, hasSeconds ? 19 : 16).replace("T", " ")} UTC`}
    </time>
  );
}

export const Size = ({ bytes }: { bytes: number }) => (
  <span className="num" title={`${bytes} bytes`}>
    {sizeText(bytes)}
  </span>
);

/** State in a word, with a colour that repeats it. */
export const Badge = ({ tone, children }: { tone: Tone; children: ReactNode }) => (
  <span className={`badge ${tone}`}>{children}</span>
);

/** Text with smaller lines below it; false ones are left out. */
export const withNotes = (text: ReactNode, ...notes: ReactNode[]) => (
  <>
    {text}
    {notes.map(
      (note, index) =>
        note !== false && (
          <p key={index} className="slug">
            {note}
          </p>
        ),
    )}
  </>
);

interface Nothing {
  title: string;
  children?: ReactNode;
  command?: string;
  /** Whether it is a pattern that a person fills in first. */
  isPattern?: boolean;
}

/** Text for an empty list: why it is empty, and the next command. */
export const Empty = ({ title, children, command, isPattern = false }: Nothing) => (
  <div className="empty">
    <p className="empty-title">{title}</p>
    {children !== undefined && <p>{children}</p>}
    {command !== undefined && <Command text={command} isPattern={isPattern} />}
  </div>
);

/** Command line to copy, or the pattern of one. The script adds the button. */
export const Command = ({ text, isPattern = false }: { text: string; isPattern?: boolean }) => (
  <div className="command" data-copy={isPattern ? undefined : ""}>
    <pre tabIndex={0} aria-label="Command">
      <code>{text}</code>
    </pre>
  </div>
);

/** Says that the rights of a plugin cannot be shown. @param isCut whether its archive was not read to its end */
export const RightsUnknown = ({ isCut }: { isCut: boolean }) => (
  <p className="notice warn">
    The rights cannot be shown: {isCut ? "the archive holds too many files" : "plugin.yaml is too large or not valid"}.
    Look into the archive before you install it.
  </p>
);

/** Section of a page with its heading. */
export const Section = ({
  id,
  title,
  ...rest
}: {
  id: string;
  title: string;
  className?: string;
  children: ReactNode;
}) => (
  <section aria-labelledby={id} className={rest.className}>
    <h2 id={id}>{title}</h2>
    {rest.children}
  </section>
);

/** Title of a column, and the class of its cells. The first column names the row; one without a title holds forms. */
export type Column = string | readonly [title: string, className: string];

/** Key of a row, and its cells. */
export type Row = readonly [key: string | number, name: ReactNode, ...cells: ReactNode[]];

interface Rows {
  label: string;
  columns: readonly Column[];
  rows: readonly Row[];
  /** Shown instead of a table without rows. */
  empty?: ReactElement;
}

/** Table whose rows become cards on a narrow screen; on a wide one, it scrolls by itself. */
export function Table({ label, columns, rows, empty }: Rows) {
  if (empty !== undefined && rows.length === 0) return empty;
  const heads = columns.map((column) => (typeof column === "string" ? ([column, undefined] as const) : column));
  return (
    <div className="table" role="group" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {heads.map(([title]) => (
              <th key={title} scope="col">
                {title === "" ? <span className="unseen">Actions</span> : title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([key, name, ...cells]) => (
            <tr key={key}>
              <th scope="row">{name}</th>
              {cells.map((cell, index) => {
                const [title, className] = heads[index + 1]!;
                return (
                  <td key={title} data-label={title} className={className}>
                    {cell}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface Paged {
  /** Path of the list; `query` has the other parts of its address. */
  to: string;
  query?: Record<string, string | undefined>;
  /** Cursor of this page; empty for the first one. */
  at: string;
  next: string | null | undefined;
  /** Name of the cursor in the address. */
  name?: string;
}

/** Links to the first page of a list, and to the next one. */
export function Pager({ to, query = {}, at, next, name = "cursor" }: Paged) {
  const isLast = (next ?? null) === null;
  if (at === "" && isLast) return null;
  return (
    <nav className="pager" aria-label="Pages">
      {at !== "" && <Go to={withQuery(to, query)}>First page</Go>}
      {!isLast && <Go to={withQuery(to, { ...query, [name]: next! })}>Next page</Go>}
    </nav>
  );
}

/** Names and values. Undefined ones are left out. */
export const FactList = ({ of }: { of: Record<string, ReactNode> }) => (
  <dl className="facts">
    {Object.entries(of).map(
      ([name, value]) =>
        value !== undefined &&
        value !== null && (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
    )}
  </dl>
);

/** Part of a page that the script reloads when the hub reports a change. @param of stream to follow */
export function Live({ id, of, children }: { id: string; of: string; children: ReactNode }) {
  const { base } = useView();
  return (
    <div id={id} data-live={`${base}/live${of}`}>
      {children}
    </div>
  );
}

export const KIND_NAMES = { plugin: "Plugin", service: "Service", project: "Project" } as const;
