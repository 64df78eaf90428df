// What a request must look like, worked out from the document alone. It shares nothing with the package: the
// tables of the specification are written down here once more.

/** Headers that HTTP itself owns; what a document says about them is not looked at. */
const OWNED = new Set([
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "keep-alive",
  "upgrade",
  "te",
  "trailer",
  "expect",
  "cookie",
  "content-type",
  "content-encoding",
  "accept",
  "accept-encoding",
  "authorization",
  "user-agent",
]);

/** The request for an operation (method in lower case, path as the document writes it) and an input. */
export function expectedRequest(document, method, path, input) {
  const isSwagger = document.swagger !== undefined;
  const item = resolve(document, document.paths[path]);
  const operation = resolve(document, item[method] ?? item[method.toUpperCase()]);
  const declared = parametersOf(document, item, operation);
  const body = isSwagger ? swaggerBody(document, operation, declared) : requestBody(document, operation);
  const expected = {
    method: method.toUpperCase(),
    path: `${isSwagger ? basePath(document) : ""}${path.startsWith("/") ? path : `/${path}`}`.split("#")[0],
    query: [],
    headers: {},
    cookies: [],
    body: undefined,
  };
  const taken = new Set(body === undefined ? [] : ["body"]);
  const values = new Map();
  for (const parameter of declared.filter(({ in: place }) => place !== "body" && place !== "formData")) {
    if (parameter.in === "path" && !expected.path.includes(`{${parameter.name}}`)) continue;
    let property = parameter.name;
    if (taken.has(property)) property = `${parameter.in}_${parameter.name}`;
    while (taken.has(property)) property += "_";
    taken.add(property);
    values.set(parameter, Object.hasOwn(input, property) ? input[property] : undefined);
  }
  for (const [parameter, value] of values) {
    if (value !== undefined) write(parameter, value, expected, isSwagger);
  }
  for (const [, name] of expected.path.matchAll(/\{([^{}]+)\}/g)) {
    // Not declared; the name is known all the same.
    const value = input[taken.has(name) ? `path_${name}` : name];
    if (value !== undefined) expected.path = expected.path.replaceAll(`{${name}}`, encode(textOf(value)));
  }
  const [bare, query] = expected.path.split("?");
  expected.path = bare;
  if (query !== undefined) expected.query.unshift(...new URLSearchParams(query));
  if (body !== undefined && input.body !== undefined) expected.body = { ...body, value: input.body };
  return expected;
}

/** Follows references, some of them to themselves. */
export function resolve(document, value) {
  for (let steps = 0; steps < 20 && typeof value?.$ref === "string"; steps++) {
    if (!value.$ref.startsWith("#")) return undefined;
    const pointer = decodeURIComponent(value.$ref.slice(1));
    const target = pointer
      .split("/")
      .slice(1)
      .reduce((at, step) => at?.[step.replaceAll("~1", "/").replaceAll("~0", "~")], document);
    const { $ref: _, ...beside } = value;
    value =
      typeof target === "object" && target !== null
        ? { ...target, ...(target.$ref ? {} : keepMethods(beside)) }
        : target;
  }
  return value;
}

/** A path item that refers to another may have operations of its own. */
const keepMethods = (beside) =>
  Object.fromEntries(Object.entries(beside).filter(([, value]) => typeof value === "object"));

function basePath(document) {
  const words = (document.basePath ?? "").replace(/^\/+|\/+$/g, "");
  return words === "" ? "" : `/${words}`;
}

function parametersOf(document, item, operation) {
  const found = new Map();
  for (const list of [item.parameters, operation.parameters]) {
    for (const entry of Array.isArray(list) ? list : []) {
      const parameter = resolve(document, entry);
      if (typeof parameter?.in !== "string" || (parameter.in !== "body" && !parameter.name)) continue;
      if (document.swagger === undefined) {
        if (!["path", "query", "header", "cookie", "querystring"].includes(parameter.in)) continue;
        const isElsewhere = ["accept", "content-type", "authorization"].includes(
          parameter.name.toLowerCase(),
        );
        if (parameter.in === "header" && isElsewhere) continue;
      } else if (!["path", "query", "header", "body", "formData", "cookie"].includes(parameter.in)) continue;
      found.set(parameter.in === "body" ? "body" : `${parameter.in} ${parameter.name}`, parameter);
    }
  }
  return [...found.values()];
}

const isJson = (type) => /^(application|text)\/json$|\+json$/.test(type.split(";")[0].trim().toLowerCase());

const chosen = (types) => types.find(isJson) ?? types[0] ?? "application/json";

function requestBody(document, operation) {
  const body = resolve(document, operation.requestBody);
  if (typeof body !== "object" || body === null) return undefined;
  const type = chosen(Object.keys(body.content ?? {}));
  const media = resolve(document, body.content?.[type]);
  return { type, encoding: media?.encoding ?? {} };
}

function swaggerBody(document, operation, declared) {
  const consumes = operation.consumes ?? document.consumes ?? [];
  const form = declared.filter((parameter) => parameter.in === "formData");
  if (form.length > 0) {
    const hasFile = form.some(({ type }) => type === "file");
    const urlencoded = consumes.find((type) => type.startsWith("application/x-www-form-urlencoded"));
    const multipart = consumes.find((type) => type.startsWith("multipart/form-data"));
    const type =
      (hasFile ? undefined : urlencoded) ??
      multipart ??
      (hasFile ? "multipart/form-data" : "application/x-www-form-urlencoded");
    const encoding = {};
    for (const { name, type: kind, collectionFormat = "csv" } of form) {
      if (kind === "array")
        encoding[name] = { style: "form", explode: collectionFormat === "multi", collectionFormat };
    }
    return { type, encoding };
  }
  return declared.some((parameter) => parameter.in === "body")
    ? { type: chosen(consumes), encoding: {} }
    : undefined;
}

/** What stays as it is in a URL: RFC 3986's unreserved characters. */
const encode = (text) =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );

const isObject = (value) =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);

/** Bytes are base64 where only text can be. */
const textOf = (value) =>
  value instanceof Uint8Array
    ? Buffer.from(value).toString("base64")
    : typeof value === "object"
      ? JSON.stringify(value)
      : String(value);

const items = (value) => value.filter((item) => item !== null && item !== undefined).map(textOf);

const entries = (value) =>
  Object.entries(value)
    .filter(([, member]) => member !== null && member !== undefined)
    .map(([key, member]) => [key, textOf(member)]);

const DELIMITERS = { spaceDelimited: " ", ssv: " ", pipeDelimited: "|", pipes: "|", tsv: "\t" };

function write(parameter, value, expected, isSwagger) {
  const { name, in: place } = parameter;
  const defaults = place === "query" || place === "cookie" ? "form" : "simple";
  const style = isSwagger ? defaults : usable(parameter.style, place) ? parameter.style : defaults;
  const explode = isSwagger
    ? parameter.collectionFormat === "multi"
    : (parameter.explode ?? (style === "form" || style === "cookie"));
  const delimiter = isSwagger ? (DELIMITERS[parameter.collectionFormat] ?? ",") : (DELIMITERS[style] ?? ",");
  const described = parameter.schema === undefined ? Object.keys(parameter.content ?? {})[0] : undefined;
  const text =
    described === undefined ? undefined : isJson(described) ? JSON.stringify(value) : textOf(value);
  switch (place) {
    case "path": {
      let part = text === undefined ? pathText(name, value, style, explode, delimiter) : encode(text);
      if (parameter.allowReserved === true)
        part = part.replace(/%(?:21|24|26|27|28|29|2A|2B|2C|3A|3B|3D|40)/g, decodeURIComponent);
      expected.path = expected.path.replaceAll(`{${name}}`, () => part);
      return;
    }
    case "query":
    case "cookie": {
      const list = place === "query" ? expected.query : expected.cookies;
      const found = text === undefined ? pairs(name, value, style, explode, delimiter) : [[name, text]];
      list.push(...(parameter.allowReserved === true ? found.flatMap(asServersRead) : found));
      return;
    }
    case "header":
      if (value === null) return;
      if (name.toLowerCase() === "cookie") expected.hasCookieHeader = true;
      if (!OWNED.has(name.toLowerCase())) {
        expected.headers[name.toLowerCase()] = text ?? simple(value, explode, delimiter, (one) => one);
      }
  }
}

/** A value whose reserved characters are not encoded may look like several pairs. */
function asServersRead([name, value]) {
  return `${name}=${value.split("#").join("%23")}`.split("&").map((pair) => {
    const [key, ...rest] = pair.split("=");
    return [key, rest.join("=").split("%23").join("#")];
  });
}

function usable(style, place) {
  const fits = {
    matrix: ["path"],
    label: ["path"],
    simple: ["path", "header"],
    form: ["query", "cookie"],
    spaceDelimited: ["query"],
    pipeDelimited: ["query"],
    deepObject: ["query"],
    cookie: ["cookie"],
  };
  return fits[style]?.includes(place) === true;
}

/** `simple`: values with one delimiter between them. */
function simple(value, explode, delimiter, written) {
  if (Array.isArray(value))
    return items(value)
      .map(written)
      .join(delimiter === "," ? "," : written(delimiter));
  if (isObject(value)) {
    return explode
      ? entries(value)
          .map(([key, member]) => `${written(key)}=${written(member)}`)
          .join(",")
      : entries(value).flat().map(written).join(",");
  }
  return written(textOf(value));
}

function pathText(name, value, style, explode, delimiter) {
  if (style === "simple") return simple(value, explode, delimiter, encode);
  const list = Array.isArray(value) ? items(value) : isObject(value) ? entries(value) : [textOf(value)];
  const assigned = (key, one) => (one === "" ? `;${encode(key)}` : `;${encode(key)}=${encode(one)}`);
  if (style === "label") {
    if (isObject(value) && explode)
      return `.${list.map(([key, one]) => `${encode(key)}=${encode(one)}`).join(".")}`;
    return `.${list
      .flat()
      .map(encode)
      .join(explode ? "." : ",")}`;
  }
  if (explode && isObject(value)) return list.map(([key, one]) => assigned(key, one)).join("");
  if (explode && Array.isArray(value)) return list.map((one) => assigned(name, one)).join("");
  const joined = list.flat().map(encode).join(",");
  return joined === "" ? `;${encode(name)}` : `;${encode(name)}=${joined}`;
}

/** Names and values, not encoded. */
function pairs(name, value, style, explode, delimiter) {
  if (value === null || value === undefined) return [];
  if (style === "deepObject") return [...deep(name, value)];
  if (Array.isArray(value)) {
    if (value.length === 0) return [];
    return explode ? items(value).map((one) => [name, one]) : [[name, items(value).join(delimiter)]];
  }
  if (isObject(value)) {
    if (Object.keys(value).length === 0) return [];
    return explode ? entries(value) : [[name, entries(value).flat().join(delimiter)]];
  }
  return [[name, textOf(value)]];
}

function* deep(name, value) {
  if (value === null || value === undefined) return;
  if (typeof value !== "object") yield [name, textOf(value)];
  else for (const [key, member] of Object.entries(value)) yield* deep(`${name}[${key}]`, member);
}

/** The fields of a form, as pairs of name and text. */
export function formPairs(value, encoding) {
  return Object.entries(value).flatMap(([name, member]) => {
    const { style, explode, contentType, allowReserved, collectionFormat } = encoding[name] ?? {};
    const isStyled = style !== undefined || explode !== undefined || allowReserved === true;
    if (!isStyled && (isObject(member) || (contentType && isJson(contentType))))
      return [[name, JSON.stringify(member)]];
    const used = style ?? "form";
    return pairs(name, member, used, explode ?? used === "form", DELIMITERS[collectionFormat ?? used] ?? ",");
  });
}

/** The parts of a multipart body: name, and text or bytes. */
export function multipartParts(value, encoding) {
  return Object.entries(value).flatMap(([name, member]) => {
    const { style, explode, contentType, collectionFormat } = encoding[name] ?? {};
    if (style !== undefined && !(member instanceof Uint8Array)) {
      return pairs(
        name,
        member,
        style,
        explode ?? style === "form",
        DELIMITERS[collectionFormat ?? style] ?? ",",
      );
    }
    if (member === null || member === undefined) return [];
    const asJson = contentType !== undefined && isJson(contentType);
    const list = Array.isArray(member) && !asJson ? member.filter((one) => one !== null) : [member];
    return list.map((one) => [
      name,
      one instanceof Uint8Array ? one : asJson ? JSON.stringify(one) : textOf(one),
    ]);
  });
}
