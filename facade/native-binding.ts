/**
 * What the compiled addon exports (see `src/` at the top of the repository). Written by hand;
 * `__test__/native-boundary.test.mjs` holds each signature against the Rust source.
 */
export interface NativeBinding {
  readonly Runtime: new (
    makeError: (code: string, message: string, details?: string | null) => Error,
    writeLog: (level: string, module: string, message: string, properties: string) => void,
  ) => Runtime;
  /** A compiled schema, from the encoding of `schema/encode.ts`. */
  readonly Schema: new (
    runtime: Runtime,
    encoded: string,
    options?: string,
  ) => Schema;
  /** An OpenAPI document, from JSON or YAML. `uri` is where it came from. */
  readonly OpenApiDocument: new (
    runtime: Runtime,
    text: string,
    uri?: string,
  ) => OpenApiDocument;
  /** What was made of a document; `OpenApiDocument.importWith` makes it. */
  readonly OpenApiImport: new (
    never: never,
  ) => OpenApiImport;
  /** The same as the constructor, off the JavaScript thread. */
  readOpenApiDocument(runtime: Runtime, bytes: Uint8Array, uri: string): Promise<OpenApiDocument>;
  /** A text in JSON or YAML that is no OpenAPI document, as JSON. */
  readSettings(runtime: Runtime, text: string): string;
  /** Where native code leaves what it has for us; `wake` is called when there is something to take. */
  readonly Mailbox: new (
    wake: () => void,
  ) => Mailbox;
  /** The channels of a Redis. */
  readonly RedisBus: new (
    runtime: Runtime,
    mailbox: Mailbox,
    options: string,
  ) => RedisBus;
  /** Whether a text has a format; nothing for a format that the engine does not know. */
  checkFormat(name: string, text: string): boolean | null;
  knownFormats(): string[];
  /** JSON Schema's `multipleOf`, exact in decimals. */
  isMultiple(value: number, divisor: number): boolean;
  /** JSON: the UTF-16 units that are not read; and in turn data, type (null: `message`) and id (null: as
   * before) of each event. */
  parseSSEFrames(runtime: Runtime, text: string): string;
  /** The requests of one import; `settings` is JSON. */
  readonly HttpService: new (
    runtime: Runtime,
    mailbox: Mailbox,
    settings: string,
    imported?: OpenApiImport | null,
    documentUrl?: string | null,
  ) => HttpService;
  /** An open stream; `HttpService.open` makes it. */
  readonly HttpStream: new (
    never: never,
  ) => HttpStream;
  /** A call or a stream that JavaScript drives; `HttpService.drive` makes it. */
  readonly HttpMachine: new (
    never: never,
  ) => HttpMachine;
  /** Files of large results; `settings` is JSON. */
  readonly SpillStore: new (
    runtime: Runtime,
    settings: string,
  ) => SpillStore;
  /** A file that is written; `SpillStore.begin` makes it. */
  readonly SpillWriter: new (
    never: never,
  ) => SpillWriter;
  /** One MCP server. */
  readonly McpClient: new (
    runtime: Runtime,
    mailbox: Mailbox,
    name: string,
    config: string,
  ) => McpClient;
  /** `options` and everything else that is text is JSON. */
  connectNats(runtime: Runtime, mailbox: Mailbox, options: string): Promise<NatsConnection>;
  readonly NatsConnection: abstract new () => NatsConnection;
  /** `options` and everything else that is text is JSON. */
  connectHub(runtime: Runtime, mailbox: Mailbox, options: string): Promise<HubConnection>;
  readonly HubConnection: abstract new () => HubConnection;
  readonly HubPeer: abstract new () => HubPeer;
  /** A schema (JSON) in the dialect of a target for tools. Throws when nothing can be said in it. */
  readonly ToolProjection: new (
    runtime: Runtime,
    schema: string,
    target: string,
  ) => ToolProjection;
  /** Names of tools, from ids or from names that were chosen. */
  toolNames(runtime: Runtime, ids: string[], chosen: (string | undefined)[], target: string): string[];
  /** The longest description of a tool, in characters. */
  toolDescriptionLimit(runtime: Runtime, target: string): number | null;
  /** A text within a number of bytes; nothing if it is. */
  shortenedText(text: string, isJson: boolean, max: number): string | null;
  /** A message without stack lines and without what looks like a secret. */
  messageForModel(message: string): string;
  /** Operations that can be searched for. */
  readonly ToolCatalogue: new (
    runtime: Runtime,
  ) => ToolCatalogue;
  /** The schemas of an operation (JSON), read once. */
  readonly ToolSchemas: new (
    input: string,
    output: string,
  ) => ToolSchemas;
  /** TypeScript declarations within a number of tokens; with `isThorough` one operation may use them all. */
  readonly ToolDeclarations: new (
    runtime: Runtime,
    budget: number,
    isThorough: boolean,
  ) => ToolDeclarations;
  /** A registry that runs natively; `output` is that of `RegistryOptions`. */
  readonly NativeRegistry: new (
    runtime: Runtime,
    output: string,
  ) => NativeRegistry;
  /** Limits that were set in one place; `settings` is JSON (`registry/limits.ts`). */
  readonly Limiter: new (
    runtime: Runtime,
    settings: string,
  ) => Limiter;
  /** The limits of one operation; calls that had to wait are told through the mailbox. */
  readonly CallGate: new (
    runtime: Runtime,
    mailbox: Mailbox,
    operationId: string,
    first: Limiter,
    second: Limiter | undefined,
    third: Limiter | undefined,
  ) => CallGate;
  /** The OpenAPI document of operations (`serve/describe-http.ts`), as JSON. `about` says what else is in it, `shown` which
   * operations, `identity` for whom. */
  openApiOf(
    runtime: Runtime,
    operations: string,
    about: string,
    shown: string[],
    identity?: string | null,
  ): string;
  /** The status that the HTTP door answers a failed call with; nothing where it closes the connection. `error` and the errors that the
   * operation declares are JSON. */
  httpStatusOfFailure(runtime: Runtime, error: string, declared: string, hasIdentity: boolean): number | null;
  /** Whether an operation can be a resource of MCP at this address. */
  isResourceUri(uri: string): boolean;
  /** The same for a call that has not failed. */
  httpStatusOfAnswer(upstream: number | undefined | null, isToolError: boolean, hasContent: boolean): number;
  /** A registry that is served; `options` is JSON (`serve/options.ts`). */
  readonly RegistryServer: new (
    runtime: Runtime,
    mailbox: Mailbox,
    registry: NativeRegistry,
    options: string,
  ) => RegistryServer;
  /** The native state machine of pending requests, step by step. In test builds only. */
  readonly CallMachine?: new (
    maxWaiting: number,
  ) => CallMachine;
  /** Calls of a native registry with scripted handlers. In test builds only. */
  readonly RegistryHooks?: new (
    runtime: Runtime,
  ) => RegistryHooks;
  /** In test builds only. */
  readonly TestHooks?: new (
    runtime: Runtime,
  ) => TestHooks;
}

export interface Runtime {
  /** The version of the package that the binary was built for. */
  readonly version: string;
  /** Whether JavaScript sends requests itself, with a global `fetch` that somebody replaced. */
  setHostSending(isSending: boolean): void;
}

/** Where large results go. */
export interface SpillStore {
  begin(): SpillWriter;
}

/** A file that is written. One that is not finished is removed. */
export interface SpillWriter {
  /** The next piece may follow when the promise is fulfilled. */
  write(piece: string | Uint8Array): Promise<void>;
  /** JSON: `spill` for the envelope, and the `preview`. */
  finish(contentType: string, isText: boolean): Promise<string>;
  abandon(): void;
}

/** Limits that were set in one place. */
export interface Limiter {
  /** JSON: what runs, waits and was refused. */
  stats(): string;
}

/** The limits of one operation, as calls meet them. */
export interface CallGate {
  /** The ticket of a call, negative if it has to wait. The bits of `covered` are limiters that do not concern it. Throws when
   * the call is refused. */
  enter(call: number, caller: string, covered: number, deadline: number | undefined): number;
  /** The call is over, or waits no longer. */
  leave(ticket: number): void;
  /** The call has failed. `details` is JSON. */
  fail(ticket: number, code: string, details: string | undefined, isOver: boolean): void;
  /** A stream has had its first event. */
  works(ticket: number): void;
  /** The call has ended; its handler has not. */
  abandon(ticket: number): void;
}

/** The native twin of a registry. Specs are JSON (`registry/native-twin.ts`). */
export interface NativeRegistry {
  /** An operation whose calls go to JavaScript. */
  setHost(spec: string): void;
  /** An imported HTTP operation (`NativeSchemas` in `registry/native-handler.ts`). */
  setHttp(
    spec: string,
    input: Schema | undefined,
    output: Schema | undefined,
    own: number,
    service: HttpService,
    imported: OpenApiImport,
    index: number,
    spills: SpillStore | undefined,
  ): void;
  /** A tool of an MCP server. */
  setMcp(
    spec: string,
    input: Schema | undefined,
    output: Schema | undefined,
    client: McpClient,
    tool: string,
    spills: SpillStore | undefined,
  ): void;
  /** An operation of a peer, and what it is called there. */
  setPeer(
    spec: string,
    input: Schema | undefined,
    output: Schema | undefined,
    peer: HubPeer,
    operationId: string,
  ): void;
  remove(id: string): void;
  /** The limits of an operation, before it is told of; nothing if it has none. */
  limit(id: string, gate: CallGate | undefined): void;
  /** The formats that users have registered with TypeBox. */
  setHostFormats(names: string[]): void;
  /** Has calls told that are done without JavaScript (`WANTS` in `registry/native-reports.ts`); the first `look` is called when
   * there is something to take. */
  report(wants: number, look: () => void): void;
  takeReports(): string | null;
}

/** A compiled schema. Live values are walked with the help of `callbacks` (`schema/live-callbacks.ts`). */
export interface Schema {
  /** How many steps the walk took, negative when the value does not pass. Never zero. `quickly`: a schema
   * that may come from outside gets a part of its allowance only. */
  check(value: unknown, callbacks: object, quickly: boolean): number;
  /** One node of the schema, for emitted code, which says how much work is left. What comes back is the work
   * that it took, negative when the value does not pass, 0 where TypeBox would throw; so in the next ones. */
  checkPart(value: unknown, callbacks: object, node: number, work?: number): number;
  isUnique(array: unknown, callbacks: object, work?: number): number;
  isDistinct(array: unknown, callbacks: object, work?: number): number;
  equals(value: unknown, callbacks: object, constant: number, work?: number): number;
  matches(pattern: number, text: string, work?: number): number;
  hasFormat(format: number, text: string, work?: number): number;
  /** Throws what emitted code says when its allowance is used up. */
  tooMuchWork(): never;
  /** JSON: paths and messages in turn. `refused`: it is known that the value does not pass. */
  errors(value: unknown, callbacks: object, max: number, refused: boolean): string;
  /** The value, JSON (paths and notes in turn), and how many steps a check of the result took. Where nothing was changed or
   * noted, the steps alone. */
  normalise(
    value: unknown,
    callbacks: object,
    mode: "normalise" | "keep" | "strict",
    keepsRoot: boolean,
  ): number | [unknown, string, number];
  /** JSON (`EmittedSource` in `schema/emitted.ts`); nothing when the walk must serve. */
  emit(what: "check" | "exact"): string | null;
  /** JSON (`Stencil` in `schema/stencil.ts`); nothing when there is none. */
  stencil(): string | null;
  format(id: number): string | null;
  pattern(id: number): string | null;
  checkJson(text: string): boolean;
  errorsJson(text: string, max: number): string;
}

export interface OpenApiDocument {
  /** Files that it refers to and that are not there yet. */
  missingFiles(): string[];
  addFile(uri: string, bytes: Uint8Array): void;
  /** JSON: the operations that have one of the methods (`OpenAPICandidate` in `openapi/config.ts`). */
  offers(methods: string[]): string;
  /** The choices are JSON (`ImportChoices` in `openapi/choices.ts`). */
  importWith(choices: string): OpenApiImport;
}

export interface OpenApiImport {
  /** JSON: the operations without their schemas. */
  heads(): string;
  /** JSON Schema of the operation at this place in the list. */
  inputSchema(index: number): string;
  /** The names of its properties and what is said about them: a part of the input schema. */
  inputOutline(index: number): string;
  outputSchema(index: number): string;
  /** Whether its operations have namespaces of their own. */
  hasNamespaces(): boolean;
  /** JSON: how the operation at this place in the list is called (`RequestPlan` of `crates/operations-http/src/message/plan.rs`). */
  request(index: number): string;
  /** JSON: `OpenAPIReportEntry[]` of `openapi/types.ts`. */
  report(): string;
}

export interface Mailbox {
  /** JSON, and what goes beside it (`border/inbox.ts`); nothing when nothing is there. */
  take(): string | [string, ...(string | ArrayBuffer)[]] | null;
}

export interface HttpService {
  /** Nothing without a body; else `json`, `parts` or `other`, a space, and the property that holds it. */
  bodyOf(index: number): string | null;
  /** The result arrives under `id`. */
  call(
    id: number,
    index: number,
    input: string,
    body: string | undefined,
    blobs: Uint8Array[] | undefined,
    headers: string | undefined,
    spills: SpillStore | undefined,
  ): void;
  open(
    id: number,
    index: number,
    input: string,
    body: string | undefined,
    blobs: Uint8Array[] | undefined,
    headers: string | undefined,
  ): HttpStream;
  fetchText(id: number, url: string, headers: string, withAuth: boolean): void;
  drive(
    index: number,
    input: string,
    body: string | undefined,
    blobs: Uint8Array[] | undefined,
    headers: string | undefined,
    isStream: boolean,
  ): HttpMachine;
  /** The URL that a call goes to, for those who watch: without secrets, as far as they can be known. */
  target(
    index: number,
    input: string,
    body: string | undefined,
    blobs: Uint8Array[] | undefined,
    headers: string | undefined,
  ): string | null;
  driveText(url: string, headers: string, withAuth: boolean): HttpMachine;
  cancel(id: number): void;
  close(): void;
}

export interface HttpStream {
  take(): string | number;
  head(): string;
  /** As a mailbox would have it. */
  failure(): string | [string, ...(string | ArrayBuffer)[]] | null;
  close(): void;
}

/** Says what to do next, as a number (`STEP` in `openapi/fetch-driver.ts`), and is told what came of it. */
export interface HttpMachine {
  step(): number;
  /** Milliseconds until `tick` is to be called, whatever else happens. */
  wait(): number | null;
  /** JSON: method, url, headers. */
  request(): string;
  body(): string | Uint8Array | null;
  /** `headers` is a JSON list of pairs. */
  head(status: number, reason: string, headers: string): number;
  chunk(piece: Uint8Array): number;
  end(): number;
  failed(why: string, code: string | undefined): number;
  tick(): number;
  cancel(): number;
  /** Of a call: its result, as a mailbox would have it. */
  outcome(): string | [string, ...(string | ArrayBuffer)[]];
  /** The same of a document. */
  textOutcome(): string | [string, ...(string | ArrayBuffer)[]];
  /** Of a stream: what `HttpStream` has. */
  take(): string | number;
  takenHead(): string;
  takenFailure(): string | [string, ...(string | ArrayBuffer)[]] | null;
}

/** One MCP server. Requests have numbers, which the caller gives. The mailbox has their results and signs of
 * progress, questions (`{ kind, question }`), and the newest `tools`. */
export interface McpClient {
  connect(request: number): void;
  call(
    request: number,
    tool: string,
    input: string | undefined,
    timeout: number | undefined,
    left: number | undefined,
    resetTimeoutOnProgress: boolean | undefined,
    wantsProgress: boolean,
    trace: string | undefined,
    spills: SpillStore | undefined,
  ): void;
  /** Calls without options, sent together. Three lines for each: the request, the tool, and the input or nothing. */
  callAll(calls: string): void;
  /** Calls that follow may be sent together, by `release`. */
  hold(): void;
  release(): void;
  query(request: number, what: string, name?: string, input?: string, timeout?: number): void;
  close(request: number): void;
  cancel(request: number): void;
  answer(question: number, answer?: string, refusal?: string): void;
  status(): string;
}

export interface RedisBus {
  listen(eventType: string): void;
  unlisten(eventType: string): void;
  /** With a request id, a failure to send goes to the mailbox. */
  publish(eventType: string, detail: string, requestId?: string): void;
  close(): void;
}

/** A connection to NATS. Payloads, outputs and details are JSON. */
export interface NatsConnection {
  readonly id: string;
  /** One line for each call: id, operation id as JSON, deadline or nothing, payload; with tabs between them. */
  callAll(calls: string): void;
  subscribe(id: string, operationId: string, payload: string, idleTimeout: number | null): void;
  abort(id: string): void;
  cancel(id: string): void;
  leave(id: string): void;
  consumed(id: string, count: number): void;
  pendingCount(): number;
  /** `listed` is what is told of the operations, as JSON; those in `except` are not served. */
  serve(
    registry: NativeRegistry,
    concurrency: number,
    verifies: boolean,
    listed: string,
    except: string[],
  ): Promise<void>;
  /** What is told of the operations has changed. */
  list(listed: string): void;
  /** Whoever asks what is served was verified: an identity as JSON, or nobody. */
  introduce(to: string, question: string, identity: string | null): void;
  /** Whether a call that is about to begin is still wanted. */
  begin(id: string): boolean;
  /** The event loop has turned. */
  turned(): void;
  /** One line for each: an id, a tab and the answer as JSON; or an id alone, the work on which is over. */
  answerAll(outcomes: string): void;
  /** Whether a stream may go on at once. */
  sendEvent(id: string, output: string): boolean;
  fail(id: string, code: string, message: string, details: string | null, isInternal: boolean): void;
  complete(id: string): void;
  /** Who asks is JSON. */
  discover(milliseconds: number, asking: string): Promise<string>;
  stats(): string;
  status(): string;
  close(milliseconds: number): Promise<void>;
}

/** The other end of a connection, to whoever calls it. Payloads are JSON. */
export interface HubPeer {
  /** One line for each call: id, operation id as JSON, deadline or nothing, payload; with tabs between them. */
  callAll(calls: string): void;
  subscribe(id: string, operationId: string, payload: string, idleTimeout: number | null): void;
  abort(id: string): void;
  cancel(id: string): void;
  leave(id: string): void;
  consumed(id: string, count: number): void;
  pendingCount(): number;
  /** What it serves, as a JSON list. */
  discover(): Promise<string>;
}

/** A spoke's connection to its hub. Outputs and details are JSON. */
export interface HubConnection {
  /** The hub, to call it. */
  peer(mailbox: Mailbox): HubPeer;
  /** The limits are JSON. */
  serve(registry: NativeRegistry, limits: string): void;
  /** Resolves to what the hub makes of it, as JSON. */
  offer(operations: string[]): Promise<string>;
  /** Whether a call that is about to begin is still wanted. */
  begin(id: string): boolean;
  /** One line for each: an id, a tab and the answer as JSON; or an id alone, the work on which is over. */
  answerAll(outcomes: string): void;
  /** Whether a stream may go on at once. */
  sendEvent(id: string, output: string): boolean;
  fail(id: string, code: string, message: string, details: string | null, isInternal: boolean): void;
  complete(id: string): void;
  stats(): string;
  status(): string;
  close(milliseconds: number): Promise<void>;
}

/** A request and its answer. */
export interface ServedExchange {
  /** The head as JSON (`serve/handler.ts`); no body if it comes in pieces. Resolves to the head of the answer, as JSON. */
  send(head: string, body?: Uint8Array | null): Promise<string>;
  /** A piece of the request. Resolves when another may come, to whether it is wanted. */
  push(piece: Uint8Array): Promise<boolean>;
  /** The request as a whole. */
  finish(body: Uint8Array): void;
  end(isWhole: boolean): void;
  /** The body of an answer that does not come in pieces. */
  whole(): Uint8Array | null;
  /** The next piece of the answer. */
  next(): Promise<Uint8Array | null>;
  cancel(): void;
}

/** A registry that is served. Outputs and details are JSON. */
export interface RegistryServer {
  /** Somebody who is connected to the hub; null if they have left. Answers to what they are asked go to the mailbox. */
  spoke(id: string, mailbox: Mailbox): HubPeer | null;
  /** Closes the connection of a spoke. */
  closeSpoke(id: string): void;
  /** A request that we are about to bring. */
  exchange(): ServedExchange;
  /** Opens a port, and resolves to the URL. */
  listen(host: string, port: number): Promise<string>;
  /** Serves these operations only. */
  /** Operations that the MCP door offers as well; each is JSON. */
  addTools(specs: string[]): void;
  showOnly(ids: string[]): void;
  /** Serves this one too, or not any more. */
  show(id: string, isShown: boolean): void;
  /** Whether a call that is about to begin is still wanted. */
  begin(id: string): boolean;
  /** One line for each: an id, a tab and the answer as JSON; or an id alone, the work on which is over. */
  answerAll(outcomes: string): void;
  /** Whether a stream may go on at once. */
  sendEvent(id: string, output: string): boolean;
  fail(id: string, code: string, message: string, details: string | null, isInternal: boolean): void;
  complete(id: string): void;
  /** Says how far a call is: a JSON object. */
  tellProgress(id: string, progress: string): void;
  /** Has a log line for the client of a call: a JSON object. */
  tellLog(id: string, line: string): void;
  /** Asks the client of a call: a JSON list. Answers arrive as events. */
  askClient(id: string, questions: string): void;
  /** What is at an address is another. */
  resourceUpdated(uri: string): void;
  /** Speaks MCP over standard input and output, with somebody who has this identity, and resolves when they are gone. */
  converse(identity: string | null): Promise<void>;
  stats(): string;
  close(milliseconds: number): Promise<void>;
}

export interface ToolCatalogue {
  /** A JSON list of entries (`crates/operations-tools/src/catalogue/mod.rs`). */
  put(entries: string): void;
  remove(ids: string[]): void;
  /** A JSON list of `{ id, score }`. */
  search(question: string, limit: number): string;
  /** Names; those of optional ones end with a question mark. */
  parameters(id: string): string[] | null;
}

/** The schemas of an operation, read. */
export interface ToolSchemas {
  /** How much memory the texts take. */
  bytes(): number;
}

export interface ToolDeclarations {
  /** Returns whether there was room. */
  add(id: string, description: string, isStream: boolean, schemas: ToolSchemas): boolean;
  text(leftOut: number): string;
}

/** A schema for a target. Everything is JSON. */
export interface ToolProjection {
  schema(): string;
  losses(): string;
  restores(): boolean;
  takesNothing(): boolean;
  restore(value: string): string;
  readArguments(text: string): string;
}

/** What is to be done after a step is told as JSON. */
export interface CallMachine {
  open(
    now: number,
    id: string,
    operationId: string,
    parent: string | undefined,
    isStream: boolean,
    limit: number | undefined,
  ): string;
  answer(now: number, id: string, event: string): string;
  ask(now: number, id: string): string;
  abort(id: string): string;
  cancel(id: string): string;
  leave(id: string): string;
  tick(now: number): string;
  nextDue(): number | null;
  count(): number;
}

export interface RegistryHooks {
  setScripted(
    registry: NativeRegistry,
    spec: string,
    input: Schema | undefined,
    output: Schema | undefined,
  ): void;
  run(registry: NativeRegistry, events: string[]): Promise<string>;
}

/** Misbehaviour on request. */
export interface TestHooks {
  panicNow(message: string): void;
  panicLater(message: string): Promise<void>;
  failNow(code: string, message: string, details?: string): void;
  failLater(code: string, message: string, details?: string): Promise<void>;
  callThrough(callback: () => unknown): unknown;
  logFromThread(message: string): void;
  importedSchema(imported: OpenApiImport, index: number, isInput: boolean): Schema | null;
  work(milliseconds: number): Promise<number>;
}
