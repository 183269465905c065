import type { InputHTMLAttributes, ReactNode, TextareaHTMLAttributes } from "react";
import { type Refused, RefusedForm, useEntered, useRefused } from "./refused.ts";
import { useView } from "./view.ts";

/** Address that a form is sent to, and its content. */
interface Sent {
  to: string;
  className?: string | undefined;
  children: ReactNode;
}

/** Form of this hub. One that was refused has what was entered, and the reason. */
export function Form({ to, children, className }: Sent) {
  return <Post {...{ to, className, children }} refused={useRefused(to, children)} />;
}

function Post({ to, children, className, refused }: Sent & { refused: Refused | undefined }) {
  const { base, formToken } = useView();
  return (
    <form method="post" action={base + to} className={className} autoComplete="off">
      <input type="hidden" name="form_token" value={formToken} />
      {refused !== undefined && (
        <p className="notice bad" role="alert" tabIndex={-1} autoFocus>
          {refused.message}
        </p>
      )}
      <RefusedForm value={refused}>{children}</RefusedForm>
    </form>
  );
}

interface Filtered extends Omit<Sent, "className"> {
  /** Name of the form, unless its fields make its purpose clear. */
  label?: string;
  className?: "filter" | "search";
}

/** Form that filters the rows of a list. */
export function Filter({ to, label, className = "filter", children }: Filtered) {
  const { base } = useView();
  return (
    <form className={className} action={base + to} role="search" aria-label={label}>
      {children}
    </form>
  );
}

type Fields = Record<string, string>;

const Hidden = ({ of }: { of: Fields }) =>
  Object.entries(of).map(([name, value]) => <input key={name} type="hidden" name={name} value={value} />);

/**
 * Form that is one button, for harmless actions such as sending a message again.
 *
 * @param sends fields sent with it @param title distinguishes the button from others like it
 */
export const ActionButton = ({
  to,
  className = "plain",
  sends = {},
  title,
  children,
}: Sent & { sends?: Fields; title?: string }) => (
  <Post to={to} className="inline" refused={useRefused(to, children, sends)}>
    <Hidden of={sends} />
    <button className={className || undefined} aria-label={title}>
      {children}
    </button>
  </Post>
);

/** Form that opens below its title. @param className `act` for one beside others, `panel` for one above a list */
export function Opened({ to, className = "act", title, children }: Sent & { title: string }) {
  const refused = useRefused(to, children);
  return (
    <details className={className} open={refused !== undefined}>
      <summary>{title}</summary>
      <Post {...{ to, refused, children }} />
    </details>
  );
}

interface Confirmation {
  /** Address of the subject; the action's path is below it. */
  at: string;
  /** Verb that opens the question. */
  verb: string;
  /** Subject of the action. */
  thing: string;
  /** Fields sent with it. */
  sends?: Fields;
  isRemoval?: boolean;
  /** Question to confirm. */
  children: ReactNode;
}

/** Form that opens with a question, and has the button that sends it below: no single click acts. */
export function Ask({ at, verb, thing, sends = {}, isRemoval = false, children }: Confirmation) {
  const to = `${at}/${verb.toLowerCase()}`;
  const refused = useRefused(to, children, sends);
  return (
    <details className="act" open={refused !== undefined}>
      <summary className={isRemoval ? "bad-text" : undefined} aria-label={`${verb} ${thing}`}>
        {verb}
      </summary>
      <Post {...{ to, refused }}>
        <p>{children}</p>
        <Hidden of={sends} />
        <button className={isRemoval ? "bad" : undefined}>
          {verb} {thing}
        </button>
      </Post>
    </details>
  );
}

/** Form like {@link Ask}, for removing something. */
export const Remove = (question: Confirmation) => <Ask {...question} isRemoval />;

interface Labelled {
  label: ReactNode;
  /** Whether what was entered is never sent back. */
  isSecret?: boolean;
}

/** Reason for which a field was refused. */
const Fault = ({ of }: { of: string | undefined }) => of !== undefined && <span className="bad-text">{of}</span>;

/** Field of a form below its label. */
export function Field({ label, isSecret = false, ...input }: Labelled & InputHTMLAttributes<HTMLInputElement>) {
  const { values, fault } = useEntered(input.name);
  const entered = isSecret || input.type === "password" ? undefined : values?.[0];
  return (
    <label>
      {label}
      <input
        {...input}
        {...(entered !== undefined && { defaultValue: entered })}
        aria-invalid={fault === undefined ? undefined : true}
      />
      <Fault of={fault} />
    </label>
  );
}

/** Field of several lines below its label. */
export function TextArea({ label, ...area }: Labelled & TextareaHTMLAttributes<HTMLTextAreaElement>) {
  const { values, fault } = useEntered(area.name);
  return (
    <label>
      {label}
      <textarea {...area} defaultValue={values?.[0]} aria-invalid={fault === undefined ? undefined : true} />
      <Fault of={fault} />
    </label>
  );
}

/** Checkbox beside its label. */
export function Check({ name, value = "yes", isChecked, children }: Checked) {
  const { values } = useEntered(name);
  return (
    <label className="check">
      <input type="checkbox" name={name} value={value} defaultChecked={values?.includes(value) ?? isChecked} />
      <span>{children}</span>
    </label>
  );
}

interface Checked {
  name: string;
  value?: string;
  isChecked?: boolean;
  children: ReactNode;
}

/** Selection below its label: texts by their values. */
export function Select({ label, name, value, of }: { label: string; name: string; value?: string; of: Texts }) {
  const { values, fault } = useEntered(name);
  return (
    <label>
      {label}
      <select name={name} defaultValue={values?.[0] ?? value} aria-invalid={fault === undefined ? undefined : true}>
        {of.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
      <Fault of={fault} />
    </label>
  );
}

type Texts = readonly (readonly [value: string, text: ReactNode])[];
