import type { InputHTMLAttributes, ReactNode } from "react";
import { useView } from "./view.ts";

/** The address that a form is sent to, and what is in it. */
interface Sent {
  to: string;
  className?: string | undefined;
  children: ReactNode;
}

/** A form of this hub. */
export function Form({ to, children, className }: Sent) {
  const { base, formToken } = useView();
  return (
    <form method="post" action={base + to} className={className} autoComplete="off">
      <input type="hidden" name="form_token" value={formToken} />
      {children}
    </form>
  );
}

/** A form that is one button. @param sends fields that go with it @param title tells the button from others like it */
export const Act = ({
  to,
  className = "plain",
  sends = {},
  title,
  children,
}: Sent & { sends?: Record<string, string>; title?: string }) => (
  <Form to={to} className="inline">
    {Object.entries(sends).map(([name, value]) => (
      <input key={name} type="hidden" name={name} value={value} />
    ))}
    <button className={className || undefined} aria-label={title}>
      {children}
    </button>
  </Form>
);

/** A form that opens below its title. @param className `act` for one beside others, `panel` for one above a list */
export const Opened = ({ to, className = "act", title, children }: Sent & { title: string }) => (
  <details className={className}>
    <summary>{title}</summary>
    <Form to={to}>{children}</Form>
  </details>
);

interface Removal {
  to: string;
  /** The verb: it opens the question. */
  verb: string;
  /** The thing that goes. */
  thing: string;
  question: string;
}

/** A form that takes something away: it opens with a question, and only the button below that sends it. */
export const Remove = ({ to, verb, thing, question }: Removal) => (
  <details className="act">
    <summary className="bad-text" aria-label={`${verb} ${thing}`}>
      {verb}
    </summary>
    <Form to={to}>
      <p>{question}</p>
      <button className="bad">
        {verb} {thing}
      </button>
    </Form>
  </details>
);

/** A field of a form below its label. */
export const Field = ({ label, ...input }: { label: string } & InputHTMLAttributes<HTMLInputElement>) => (
  <label>
    {label}
    <input {...input} />
  </label>
);

/** A choice below its label: texts by their values. */
export function Select({ label, name, value, of }: { label: string; name: string; value?: string; of: Texts }) {
  return (
    <label>
      {label}
      <select name={name} defaultValue={value}>
        {of.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

type Texts = readonly (readonly [value: string, text: ReactNode])[];
