// A streamable HTTP MCP server without an SDK, in the process of the test.

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { defer } from "./defer.mjs";
import { Conversation } from "./protocol.mjs";

/**
 * @param {object} options
 * @param {string[]} [options.traits] how it misbehaves (see `protocol.mjs`)
 * @param {"json" | "sse"} [options.answers] how it answers requests
 * @param {boolean} [options.sessions] whether clients get a session id that they must send
 * @param {boolean} [options.standingStream] whether a GET gets a stream for what the server says by itself
 * @param {Record<string, string>} [options.requires] headers without which nothing is served
 * @param {(request, response) => boolean | Promise<boolean>} [options.before] may answer in place of the server
 */
export async function startHTTPServer(test, options = {}) {
  const {
    traits = [],
    answers = "json",
    sessions = true,
    standingStream = false,
    requires = {},
    before,
  } = options;
  /** Requests as they came: method, headers, message. */
  const requests = [];
  const open = new Map();
  const streams = new Map();
  const stateless = newConversation("none");

  function newConversation(id) {
    const conversation = new Conversation({
      traits: new Set(traits),
      send: (message) => route(id, message),
      end: () => server.closeAllConnections(),
    });
    conversation.waiting = new Map();
    return conversation;
  }

  /** Answers go to their request, everything else to the newest open stream of the session. */
  function route(session, message) {
    const conversation = session === "none" ? stateless : open.get(session);
    const isAnswer = message.method === undefined;
    const waiting = isAnswer
      ? conversation.waiting.get(message.id)
      : ([...conversation.waiting.values()].findLast((each) => each.stream) ?? streams.get(session));
    if (isAnswer) conversation.waiting.delete(message.id);
    waiting?.write(message, isAnswer);
  }

  const server = createServer(async (request, response) => {
    const body = await read(request);
    const message = body === "" ? undefined : JSON.parse(body);
    requests.push({ method: request.method, url: request.url, headers: request.headers, message });
    if (await before?.(request, response, message)) return;
    for (const [name, value] of Object.entries(requires)) {
      if (request.headers[name.toLowerCase()] !== value) return refuse(response, 403, `no ${name}`);
    }
    serve(request, response, message);
  });

  function serve(request, response, message) {
    const id = request.headers["mcp-session-id"];
    if (message?.method === "initialize" && sessions) {
      const session = randomUUID();
      open.set(session, newConversation(session));
      response.setHeader("Mcp-Session-Id", session);
      return post(open.get(session), message, response);
    }
    const conversation = sessions ? open.get(id) : stateless;
    if (message?.method === "server/discover" && conversation === undefined) {
      return post(stateless, message, response);
    }
    if (conversation === undefined) return refuse(response, 404, "Session not found");
    if (request.method === "DELETE") {
      open.delete(id);
      return response.writeHead(204).end();
    }
    if (request.method === "GET") {
      if (!standingStream) return refuse(response, 405, "no stream");
      streams.set(id, eventStream(response));
      return request.on("close", () => streams.delete(id));
    }
    return post(conversation, message, response);
  }

  function post(conversation, message, response) {
    if (message.id === undefined || message.method === undefined) {
      conversation.take(message);
      return response.writeHead(202).end();
    }
    conversation.waiting.set(message.id, answers === "sse" ? eventStream(response) : oneAnswer(response));
    return conversation.take(message);
  }

  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () =>
    new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
  defer(test, close);
  return {
    url: `http://127.0.0.1:${server.address().port}/mcp`,
    port: server.address().port,
    requests,
    methods: () => requests.map(({ message }) => message?.method).filter(Boolean),
    sessions: open,
    /** All sessions are gone, as after a restart. */
    forgetSessions: () => open.clear(),
    dropConnections: () => server.closeAllConnections(),
    close,
  };
}

function oneAnswer(response) {
  return {
    stream: false,
    write(message) {
      response.setHeader("Content-Type", "application/json");
      response.end(JSON.stringify(message));
    },
  };
}

function eventStream(response) {
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  response.flushHeaders();
  return {
    stream: true,
    write(message, isLast) {
      response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
      if (isLast) response.end();
    },
  };
}

function refuse(response, status, text) {
  response.writeHead(status, { "Content-Type": "text/plain" }).end(text);
}

async function read(request) {
  let body = "";
  for await (const chunk of request.setEncoding("utf8")) body += chunk;
  return body;
}
