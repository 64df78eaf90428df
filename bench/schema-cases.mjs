// The schemas and values of the schema benchmark, in each library's own terms.

import { Type } from "@sinclair/typebox";
import { type } from "arktype";
import * as v from "valibot";
import { z } from "zod";

const address = (T) =>
  T.object({ street: T.string(), city: T.string(), zip: T.string(), country: T.string() });
const item = (T) =>
  T.object({
    sku: T.string(),
    title: T.string(),
    quantity: T.integer(),
    price: T.number(),
    gift: T.boolean(),
  });

/** One description of each shape, to be built with any library. */
const shapes = {
  small: (T) => T.object({ id: T.integer(), name: T.string(), active: T.boolean() }),
  // 20 properties, three levels, an array of ten.
  medium: (T) =>
    T.object({
      id: T.integer(),
      reference: T.string(),
      status: T.oneOf(["open", "paid", "shipped"]),
      createdAt: T.string(),
      updatedAt: T.string(),
      total: T.number(),
      tax: T.number(),
      currency: T.string(),
      paid: T.boolean(),
      notes: T.optional(T.string()),
      tags: T.array(T.string()),
      customer: T.object({
        id: T.integer(),
        name: T.string(),
        email: T.string(),
        billing: address(T),
        shipping: address(T),
      }),
      items: T.array(item(T)),
      channel: T.string(),
      priority: T.integer(),
      weight: T.number(),
      insured: T.boolean(),
      carrier: T.string(),
      tracking: T.optional(T.string()),
      attempts: T.integer(),
    }),
  large: (T) => T.array(item(T)),
};

const typebox = {
  object: (properties) => Type.Object(properties),
  array: (items) => Type.Array(items),
  string: () => Type.String(),
  integer: () => Type.Integer(),
  number: () => Type.Number(),
  boolean: () => Type.Boolean(),
  optional: (schema) => Type.Optional(schema),
  oneOf: (words) => Type.Union(words.map((word) => Type.Literal(word))),
};

const zod = {
  object: (properties) => z.object(properties),
  array: (items) => z.array(items),
  string: () => z.string(),
  integer: () => z.int(),
  number: () => z.number(),
  boolean: () => z.boolean(),
  optional: (schema) => schema.optional(),
  oneOf: (words) => z.enum(words),
};

const valibot = {
  object: (properties) => v.object(properties),
  array: (items) => v.array(items),
  string: () => v.string(),
  integer: () => v.pipe(v.number(), v.integer()),
  number: () => v.number(),
  boolean: () => v.boolean(),
  optional: (schema) => v.optional(schema),
  oneOf: (words) => v.picklist(words),
};

const arktype = {
  object: (properties) => type(properties),
  array: (items) => items.array(),
  string: () => type("string"),
  integer: () => type("number.integer"),
  number: () => type("number"),
  boolean: () => type("boolean"),
  optional: (schema) => schema.optional(),
  oneOf: (words) => type.enumerated(...words),
};

const items = (count) =>
  Array.from({ length: count }, (_, i) => ({
    sku: `sku-${i}`,
    title: `Item ${i}`,
    quantity: i,
    price: i * 1.5,
    gift: i % 2 === 0,
  }));

const place = { street: "1 Main St", city: "Springfield", zip: "12345", country: "US" };

export const values = {
  small: { id: 7, name: "Ada", active: true },
  medium: {
    id: 1,
    reference: "R-1",
    status: "shipped",
    createdAt: "2026-01-01T00:00:00Z",
    updatedAt: "2026-01-02T00:00:00Z",
    total: 99.5,
    tax: 9.5,
    currency: "EUR",
    paid: true,
    notes: "ring twice",
    tags: ["a", "b", "c"],
    customer: { id: 5, name: "Ada", email: "ada@example.com", billing: place, shipping: place },
    items: items(10),
    channel: "web",
    priority: 2,
    weight: 1.25,
    insured: false,
    carrier: "post",
    tracking: "T-1",
    attempts: 1,
  },
  large: items(1000),
};

export const typeboxSchema = (size) => shapes[size](typebox);
export const zodSchema = (size) => shapes[size](zod);

/** Libraries that follow Standard Schema: how each makes a schema, and how it is used without a registry. */
export const libraries = {
  Zod: { schema: zodSchema, parse: (schema) => (value) => schema.parse(value) },
  Valibot: { schema: (size) => shapes[size](valibot), parse: (schema) => (value) => v.parse(schema, value) },
  ArkType: { schema: (size) => shapes[size](arktype), parse: (schema) => (value) => schema.assert(value) },
};
export const sizes = Object.keys(shapes);
