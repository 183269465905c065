import type { ComponentProps, ReactNode } from "react";
import { Layout } from "./layout.tsx";
import { Pager, Table } from "./parts.tsx";

type Rows = Omit<ComponentProps<typeof Table>, "label">;

interface List extends Rows {
  title: string;
  /** Name of the table. Default: the title. */
  label?: string;
  /** Text about the list, and a form for a new row. */
  above?: ReactNode;
  /** Path of the list; `query` has the other parts of its address. */
  to: string;
  query?: Record<string, string | undefined>;
  /** Cursor of this page of the list; `next` is that of the next one. Without them, the list has one page. */
  cursor?: string;
  next?: string | null;
  children?: ReactNode;
}

/** Shows a list, one page at a time. */
export const ListPage = ({
  title,
  label = title,
  above,
  to,
  query = {},
  cursor = "",
  next = null,
  children,
  ...rows
}: List) => (
  <Layout title={title}>
    <h1>{title}</h1>
    {above}
    <Table label={label} {...rows} />
    <Pager to={to} query={query} at={cursor} next={next} />
    {children}
  </Layout>
);
