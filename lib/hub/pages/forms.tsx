import type { InputHTMLAttributes, ReactNode } from "react";
import { useView } from "./view.ts";

/** The target of a form, and the question that the script asks before it is sent. */
interface Sent {
  to: string;
  className?: string | undefined;
  confirm?: string | undefined;
  children: ReactNode;
}

/** A form of this hub. */
export function Form({ to, children, className, confirm }: Sent) {
  const { base, formToken } = useView();
  return (
    <form method="post" action={base + to} className={className} data-confirm={confirm} autoComplete="off">
      <input type="hidden" name="form_token" value={formToken} />
      {children}
    </form>
  );
}

/** A form that is one button. @param sends fields that go with it @param title tells the button from others like it */
export const Act = ({
  to,
  className = "plain",
  confirm,
  sends = {},
  title,
  children,
}: Sent & { sends?: Record<string, string>; title?: string }) => (
  <Form to={to} className="inline" confirm={confirm}>
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
