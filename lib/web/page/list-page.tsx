import type { ComponentProps, ReactNode } from "react";
import { Layout } from "./layout.tsx";
import { Pager, Table } from "./parts.tsx";

type Rows = Omit<ComponentProps<typeof Table>, "label">;
type Pages = Omit<ComponentProps<typeof Pager>, "at">;

interface List extends Rows, Pages {
  title: string;
  /** Name of the table; the title unless given. */
  label?: string;
  /** Words about the list, and a form for a new row. */
  above?: ReactNode;
  cursor: string;
  children?: ReactNode;
}

/** The page of a list, one screen of it at a time. */
export const ListPage = ({ title, label = title, above, to, query = {}, cursor, next, children, ...rows }: List) => (
  <Layout title={title}>
    <h1>{title}</h1>
    {above}
    <Table label={label} {...rows} />
    <Pager to={to} query={query} at={cursor} next={next} />
    {children}
  </Layout>
);
