/**
 * Each sentence and table row of test/fixtures/gateway/provider-interface-core-profile.md in order, with the titles of its tests
 * or the reason why it needs none. requirements.test.ts compares this table with the document and with the tests.
 */
export const requirements: readonly Requirement[] = [
  {
    id: 'P001',
    sentence: 'The Core Profile is the minimal subset of the [Provider Interface v2](./provider-interface-v2.md).',
    reason: 'says what the document is',
  },
  {
    id: 'P002',
    sentence: 'It covers token-authenticated project providers that expose tools to a single Copilot session.',
    tests: ['a provider sends auth and hello, and is bound'],
  },
  {
    id: 'P003',
    sentence: 'Read **only this document** to build a working provider.',
    tests: [
      'the example in Node.js registers, answers, reconnects after a lost connection and ends',
      'the example in Python registers, answers, reconnects after a lost connection and ends (needs python3-websockets)',
    ],
  },
  {
    id: 'P004',
    sentence: '| **AwaitAuth** | `auth` | `sessions` or `error` |',
    tests: [
      'gets the sessions after the correct token',
      'the token of auth %j ends with AUTH_FAILED',
      'in %s a message of type %s gets UNKNOWN_TYPE and changes nothing',
    ],
  },
  {
    id: 'P005',
    sentence: '| **AwaitHello** | `hello` | `hello.ack` or `error` |',
    tests: [
      'a provider sends auth and hello, and is bound',
      'after INVALID_SESSION, another hello is accepted',
      'in %s a message of type %s gets UNKNOWN_TYPE and changes nothing',
    ],
  },
  {
    id: 'P006',
    sentence:
      '| **Bound** | `tool.result`, `push`, `tools.update`, `goodbye` | `tool.call`, `tool.cancel`, `session.lifecycle`, `error` |',
    tests: [
      'a provider sends auth and hello, and is bound',
      'are sent with an id of their own and the session',
      'H06 a cancel for %s ends a call, and its late results are dropped',
      'gets lifecycle messages for runs of its session',
      'in %s a message of type %s gets UNKNOWN_TYPE and changes nothing',
    ],
  },
  {
    id: 'P007',
    sentence: 'The gateway generates a unique token for the running gateway instance.',
    tests: ['H15 a new token closes the connections of all providers, and the old one is invalid'],
  },
  { id: 'P008', sentence: 'Providers can discover it from:', reason: 'introduces the two places that follow' },
  {
    id: 'P009',
    sentence: '`TAP_PROVIDER_TOKEN` when launched with the Copilot environment.',
    tests: [
      'the example in Node.js registers, answers, reconnects after a lost connection and ends',
      'commands and tasks of a workspace do not get the token',
    ],
  },
  {
    id: 'P010',
    sentence:
      '`<COPILOT_HOME or ~/.copilot>/extensions/tap/.provider-token` when launched from a sibling terminal or by SDK auto-discovery.',
    tests: [
      'the token file is where providers look, readable by this user only, and removed when the gateway closes',
      'a client of /rpc calls a tool of a provider by its name and through mcp.tools.call',
    ],
  },
  {
    id: 'P011',
    sentence: 'The gateway writes the token file with restrictive permissions and removes it when the gateway stops.',
    tests: [
      'the token file is where providers look, readable by this user only, and removed when the gateway closes',
      'a daemon that stops notifies its providers and removes its token',
      'the token of a running daemon stays; that of a killed one is replaced with its record',
    ],
  },
  {
    id: 'P012',
    sentence: 'Provider sends the token as the first message:',
    tests: ['a provider sends auth and hello, and is bound'],
  },
  {
    id: 'P013',
    sentence: '**Success →** gateway sends `sessions`.',
    tests: ['gets the sessions after the correct token'],
  },
  {
    id: 'P014',
    sentence: '**Failure →** `error { code: "AUTH_FAILED" }`, connection closed.',
    tests: ['the token of auth %j ends with AUTH_FAILED', 'with a wrong token is closed'],
  },
  {
    id: 'P015',
    sentence: 'First message.',
    tests: ['in %s a message of type %s gets UNKNOWN_TYPE and changes nothing'],
  },
  { id: 'P016', sentence: 'Required fields: `type`, `token`.', tests: ['the token of auth %j ends with AUTH_FAILED'] },
  { id: 'P017', sentence: 'Sent after successful auth.', tests: ['gets the sessions after the correct token'] },
  {
    id: 'P018',
    sentence: 'Provider picks one `id` for `hello`.',
    tests: ['a provider sends auth and hello, and is bound', 'after INVALID_SESSION, another hello is accepted'],
  },
  {
    id: 'P019',
    sentence: 'Register tools, bind to a session.',
    tests: ['offers its tools, and answers calls by name and through mcp.tools.call'],
  },
  {
    id: 'P020',
    sentence: '| `name` | yes | Stable provider identity |',
    tests: [
      'a hello without %s gets INVALID_JSON',
      'H13 of a provider that connects twice: the new connection wins, calls of the old one fail',
    ],
  },
  {
    id: 'P021',
    sentence: '| `protocolVersion` | yes | Must be `2` |',
    tests: ['protocolVersion %s ends with UNSUPPORTED_VERSION'],
  },
  {
    id: 'P022',
    sentence: '| `session` | yes | Session `id` from `sessions.active` |',
    tests: ['a hello without %s gets INVALID_JSON', 'after INVALID_SESSION, another hello is accepted'],
  },
  {
    id: 'P023',
    sentence:
      '| `tools` | no | Array of tool defs. Each: `name`, `description`, `parameters` (JSON Schema). Optional `timeout` (ms). |',
    tests: [
      'a hello without tools is accepted',
      'the tool %j is refused',
      'H09 a provider that never answers fails the call at the time limit of the tool, or of the workspace',
    ],
  },
  { id: 'P024', sentence: '**Success →** `hello.ack`.', tests: ['a provider sends auth and hello, and is bound'] },
  {
    id: 'P025',
    sentence: '**Failure →** `error` (`INVALID_SESSION`, `UNSUPPORTED_VERSION`, `TOOL_CONFLICT`).',
    tests: [
      'after INVALID_SESSION, another hello is accepted',
      'protocolVersion %s ends with UNSUPPORTED_VERSION',
      'after TOOL_CONFLICT, a hello with another name is accepted',
    ],
  },
  { id: 'P026', sentence: 'Provider is now **Bound**.', tests: ['a provider sends auth and hello, and is bound'] },
  {
    id: 'P027',
    sentence: '`providerId` is a stable debug ID included in subsequent `error` messages.',
    tests: [
      'a provider sends auth and hello, and is bound',
      'an unknown type is refused by name, and the connection stays',
      'before authentication an error does not name the provider',
    ],
  },
  {
    id: 'P028',
    sentence: '`sessionId` echoes the session selected by `hello`.',
    tests: ['a provider sends auth and hello, and is bound', 'gets lifecycle messages for runs of its session'],
  },
  {
    id: 'P029',
    sentence: 'Provider **must** respond with exactly one `tool.result` for this `id`.',
    tests: [
      'H06 the first result counts, later ones are dropped without an error',
      'H09 a provider that never answers fails the call at the time limit of the tool, or of the workspace',
    ],
  },
  {
    id: 'P030',
    sentence: 'On failure, use `error` + `errorCode` instead of `data`:',
    tests: ['an error with errorCode %s fails the call'],
  },
  {
    id: 'P031',
    sentence: 'Error codes: `NOT_FOUND`, `TIMEOUT`, `CANCELLED`, `INTERNAL`.',
    tests: ['an error with errorCode %s fails the call'],
  },
  {
    id: 'P032',
    sentence: 'Exactly one of `data` or `error` should be present.',
    tests: ['an invalid result %j fails its call, and no other one'],
  },
  {
    id: 'P033',
    sentence: 'Bound providers can push events to their selected session:',
    tests: ['with level %s is passed on', 'in %s a message of type %s gets UNKNOWN_TYPE and changes nothing'],
  },
  {
    id: 'P034',
    sentence: '| `level` | yes | `keep`, `surface`, or `inject` |',
    tests: ['with level %s is passed on', 'with %j is refused'],
  },
  { id: 'P035', sentence: '| `event` | yes | Non-empty event text |', tests: ['with %j is refused'] },
  {
    id: 'P036',
    sentence: '| `stream` | no | EventStream name. Defaults to the provider name in the SDK. |',
    tests: ['reaches the session, in the stream of its name by default', 'with %j is refused'],
  },
  {
    id: 'P037',
    sentence: '| `sessionId` | no | Must match the session selected in `hello` when supplied. |',
    tests: ['for another session is refused, for its own one accepted'],
  },
  {
    id: 'P038',
    sentence: '| `metadata` | no | JSON object stored with the stream entry. |',
    tests: [
      'reaches the session, in the stream of its name by default',
      'with %j is refused',
      'kept and surfaced texts are in the streams of the session, and an injected text becomes a message',
    ],
  },
  { id: 'P039', sentence: 'Delivery:', reason: 'introduces the three levels that follow' },
  {
    id: 'P040',
    sentence: '`keep` stores the event in the stream only.',
    tests: ['kept and surfaced texts are in the streams of the session, and an injected text becomes a message'],
  },
  {
    id: 'P041',
    sentence: '`surface` stores and logs the event to the Copilot timeline.',
    tests: ['kept and surfaced texts are in the streams of the session, and an injected text becomes a message'],
  },
  {
    id: 'P042',
    sentence: '`inject` stores, logs, and sends the event into the session.',
    tests: ['kept and surfaced texts are in the streams of the session, and an injected text becomes a message'],
  },
  {
    id: 'P043',
    sentence: "Replace this provider's complete tool list while Bound:",
    tests: ['replaces the list without an answer'],
  },
  {
    id: 'P044',
    sentence: 'The `tools` field uses the same validation rules as `hello.tools` and remains capped at 100 tools.',
    tests: ['that is refused with %s keeps the list', 'H03 101 tools are all refused, and the earlier tools stay'],
  },
  {
    id: 'P045',
    sentence: 'If `sessionId` is supplied it must match the session selected in `hello`.',
    tests: ['that is refused with %s keeps the list', 'accepts the sessionId of its own session'],
  },
  {
    id: 'P046',
    sentence:
      'Success is silent and triggers the same debounced `registerTools()` + extension reload path used for provider connect/disconnect.',
    tests: ['replaces the list without an answer', 'change in one announcement for many providers'],
  },
  {
    id: 'P047',
    sentence: 'On failure, the gateway sends `error` and keeps the previous tool list active.',
    tests: [
      'that is refused with %s keeps the list',
      'stay when an update is refused, and calls of removed tools continue',
    ],
  },
  {
    id: 'P048',
    sentence:
      'In-flight calls to tools removed by a successful update are not cancelled; they continue to result, timeout, cancellation, or disconnect.',
    tests: [
      'stay when an update is refused, and calls of removed tools continue',
      'does not end calls of removed tools',
    ],
  },
  {
    id: 'P049',
    sentence:
      'Provider **must** respond: `{ "type": "tool.result", "id": "call-123", "error": "Cancelled", "errorCode": "CANCELLED" }`.',
    tests: [
      'H06 a cancel for %s ends a call, and its late results are dropped',
      'of a call by its caller is sent to the provider with the reason',
    ],
  },
  { id: 'P050', sentence: 'Always sent, no opt-in.', tests: ['gets lifecycle messages for runs of its session'] },
  {
    id: 'P051',
    sentence: 'Three states:',
    tests: ['gets lifecycle messages for runs of its session', 'of the gateway gives providers time to send goodbye'],
  },
  {
    id: 'P052',
    sentence: 'On `shutdown.pending`: clean up within `deadline` ms, then send `goodbye`.',
    tests: [
      'of the gateway gives providers time to send goodbye',
      'a daemon that stops notifies its providers and removes its token',
    ],
  },
  {
    id: 'P053',
    sentence: 'Gateway tears down after the deadline regardless.',
    tests: ['of the gateway closes the connection of a provider that stays'],
  },
  {
    id: 'P054',
    sentence:
      'Fields: `code` (required), `message` (required), `replyTo` (optional), `providerId` (optional), `sessionId` (optional).',
    tests: [
      'an unknown type is refused by name, and the connection stays',
      'after INVALID_SESSION, another hello is accepted',
    ],
  },
  {
    id: 'P055',
    sentence: 'Send before closing the WebSocket.',
    tests: [
      'removes the tools and fails all pending calls, after goodbye or a lost connection',
      'are removed after goodbye and after a lost connection, and return with a new one',
    ],
  },
  {
    id: 'P056',
    sentence: '`reason` is optional.',
    tests: [
      'removes the tools and fails all pending calls, after goodbye or a lost connection',
      'inputs after the end have no effect',
    ],
  },
  {
    id: 'P057',
    sentence: '**Ignore unknown fields** in any message.',
    tests: ['unknown fields are ignored in every message'],
  },
  {
    id: 'P058',
    sentence: '**Ignore unknown gateway→provider message types** (log and discard, do not disconnect).',
    reason: 'a rule for providers',
  },
  {
    id: 'P059',
    sentence: 'Gateway **rejects** unknown provider→gateway types with `error { code: "UNKNOWN_TYPE" }`.',
    tests: ['an unknown type is refused by name, and the connection stays'],
  },
  {
    id: 'P060',
    sentence: 'Provider sends `protocolVersion: 2` in `hello`.',
    tests: ['protocolVersion %s ends with UNSUPPORTED_VERSION', 'a provider sends auth and hello, and is bound'],
  },
  {
    id: 'P061',
    sentence: 'Gateway echoes its version in `hello.ack`.',
    tests: ['a provider sends auth and hello, and is bound'],
  },
  {
    id: 'P062',
    sentence: 'Mismatch → `error { code: "UNSUPPORTED_VERSION" }`, connection closed.',
    tests: ['protocolVersion %s ends with UNSUPPORTED_VERSION'],
  },
  {
    id: 'P063',
    sentence: 'Per-connection FIFO.',
    tests: ['delivers results in the order in which it sends them'],
  },
  {
    id: 'P064',
    sentence: 'Messages on a single WebSocket arrive in send order.',
    tests: ['delivers results in the order in which it sends them'],
  },
  {
    id: 'P065',
    sentence: 'Each `tool.call` has **one** terminal outcome.',
    tests: [
      'H06 the first result counts, later ones are dropped without an error',
      'of thousands of calls with 1 % lost connections, every call ends exactly once',
    ],
  },
  {
    id: 'P066',
    sentence: 'First terminal message wins:',
    tests: ['H06 the first result counts, later ones are dropped without an error'],
  },
  {
    id: 'P067',
    sentence: '`tool.result` arrives → complete.',
    tests: ['H06 the first result counts, later ones are dropped without an error'],
  },
  {
    id: 'P068',
    sentence: 'Later duplicates silently ignored.',
    tests: ['H06 the first result counts, later ones are dropped without an error'],
  },
  {
    id: 'P069',
    sentence: '`tool.cancel` sent → provider **must** reply `tool.result { errorCode: "CANCELLED" }`.',
    tests: ['H06 a cancel for %s ends a call, and its late results are dropped'],
  },
  {
    id: 'P070',
    sentence: 'Non-cancelled results arriving after cancel are ignored.',
    tests: ['H06 a cancel for %s ends a call, and its late results are dropped'],
  },
  {
    id: 'P071',
    sentence: 'Provider disconnects with in-flight calls → gateway returns `errorCode: "DISCONNECTED"` to Copilot.',
    tests: [
      'H08 a call fails at once when its provider disconnects, and is not sent again',
      'removes the tools and fails all pending calls, after goodbye or a lost connection',
    ],
  },
  {
    id: 'P072',
    sentence: '**Not** replayed on reconnect.',
    tests: ['H08 a call fails at once when its provider disconnects, and is not sent again'],
  },
  {
    id: 'P073',
    sentence:
      'Malformed JSON, oversized messages, or invalid `tool.result` messages that cannot be correlated while calls are in flight fail fast.',
    tests: [
      '%s with one pending call fails that call at once',
      '%s with several pending calls ends the connection',
      'an invalid result %j fails its call, and no other one',
    ],
  },
  {
    id: 'P074',
    sentence: 'With one pending call, the gateway rejects that call with the protocol/validation error.',
    tests: ['%s with one pending call fails that call at once'],
  },
  {
    id: 'P075',
    sentence:
      'With multiple pending calls, the gateway disconnects the provider and fails all pending calls with `DISCONNECTED`.',
    tests: ['%s with several pending calls ends the connection'],
  },
  {
    id: 'P076',
    sentence: 'On disconnect (clean or crash): all tools removed, all in-flight calls failed with `DISCONNECTED`.',
    tests: [
      'removes the tools and fails all pending calls, after goodbye or a lost connection',
      'are removed after goodbye and after a lost connection, and return with a new one',
    ],
  },
  {
    id: 'P077',
    sentence: 'Reconnect = fresh start (re-auth, new `hello`).',
    tests: [
      'are removed after goodbye and after a lost connection, and return with a new one',
      'H08 a call fails at once when its provider disconnects, and is not sent again',
    ],
  },
  { id: 'P078', sentence: 'Gateway is a detached background process.', reason: 'here the gateway is the daemon' },
  {
    id: 'P079',
    sentence: 'Crash = **all state lost**.',
    tests: ['the token of a running daemon stays; that of a killed one is replaced with its record'],
  },
  {
    id: 'P080',
    sentence: 'Providers detect via `onclose`, reconnect fresh when a new gateway spawns.',
    tests: [
      'the example in Node.js registers, answers, reconnects after a lost connection and ends',
      'the example in Python registers, answers, reconnects after a lost connection and ends (needs python3-websockets)',
    ],
  },
  {
    id: 'P081',
    sentence: '| `tool.result` max size | 5 MB |',
    tests: ['H02 a result of 5 MB is accepted, one byte more fails its call at once'],
  },
  {
    id: 'P082',
    sentence: '| All other messages | 2 MB |',
    tests: ['H02 a message of 2 MB is accepted, one byte more gets PAYLOAD_TOO_LARGE, and the connection stays'],
  },
  {
    id: 'P083',
    sentence: '| Max tools per provider | 100 |',
    tests: [
      'more than 100 tools get PAYLOAD_TOO_LARGE, 100 are accepted',
      'H03 101 tools are all refused, and the earlier tools stay',
    ],
  },
  {
    id: 'P084',
    sentence: 'Exceeding → `error { code: "PAYLOAD_TOO_LARGE" }`.',
    tests: [
      'H02 a message of 2 MB is accepted, one byte more gets PAYLOAD_TOO_LARGE, and the connection stays',
      'H02 a result of 5 MB is accepted, one byte more fails its call at once',
      'more than 100 tools get PAYLOAD_TOO_LARGE, 100 are accepted',
    ],
  },
  {
    id: 'P085',
    sentence:
      'If an oversized or malformed bound-provider message arrives while ambiguous tool calls are pending, the terminal semantics above also apply so in-flight calls cannot remain pending forever.',
    tests: [
      '%s with no pending call is answered',
      '%s with one pending call fails that call at once',
      '%s with several pending calls ends the connection',
    ],
  },
  {
    id: 'P086',
    sentence: '| `AUTH_FAILED` | **Yes** | Connection closes. Check `TAP_PROVIDER_TOKEN`. |',
    tests: ['the token of auth %j ends with AUTH_FAILED', 'with a wrong token is closed'],
  },
  {
    id: 'P087',
    sentence: '| `UNSUPPORTED_VERSION` | **Yes** | Connection closes. Update `protocolVersion`. |',
    tests: ['protocolVersion %s ends with UNSUPPORTED_VERSION'],
  },
  {
    id: 'P088',
    sentence: '| `INVALID_SESSION` | No | Pick a different session from the last `sessions` message. |',
    tests: [
      'after INVALID_SESSION, another hello is accepted',
      'for another session is refused, for its own one accepted',
    ],
  },
  {
    id: 'P089',
    sentence: '| `TOOL_CONFLICT` | No | Rename the tool, re-send `hello`. |',
    tests: ['after TOOL_CONFLICT, a hello with another name is accepted'],
  },
  {
    id: 'P090',
    sentence: '| `PAYLOAD_TOO_LARGE` | No | Reduce payload, retry. |',
    tests: [
      'H02 a message of 2 MB is accepted, one byte more gets PAYLOAD_TOO_LARGE, and the connection stays',
      'more than 100 tools get PAYLOAD_TOO_LARGE, 100 are accepted',
    ],
  },
  {
    id: 'P091',
    sentence: '| `RATE_LIMITED` | No | Back off 1s, retry. |',
    tests: [
      'RATE_LIMITED ends after a second, and expected results are never limited',
      'H11 a provider that floods is limited, then closed, while another one answers',
    ],
  },
  {
    id: 'P092',
    sentence: '| `INVALID_JSON` | No | Fix message, retry. |',
    tests: ['the text %.20j gets INVALID_JSON in every state', 'with %j is refused'],
  },
  {
    id: 'P093',
    sentence: '| `UNKNOWN_TYPE` | No | Check `protocolVersion`. |',
    tests: [
      'an unknown type is refused by name, and the connection stays',
      'in %s a message of type %s gets UNKNOWN_TYPE and changes nothing',
    ],
  },
  {
    id: 'P094',
    sentence: '| Provider → Gateway | `auth` | First message | `sessions` or `error` |',
    tests: ['gets the sessions after the correct token', 'the token of auth %j ends with AUTH_FAILED'],
  },
  {
    id: 'P095',
    sentence: '| Gateway → Provider | `sessions` | After auth | Provider sends `hello` |',
    tests: ['gets the sessions after the correct token'],
  },
  {
    id: 'P096',
    sentence: '| Provider → Gateway | `hello` | After `sessions` | `hello.ack` or `error` |',
    tests: ['a provider sends auth and hello, and is bound', 'after INVALID_SESSION, another hello is accepted'],
  },
  {
    id: 'P097',
    sentence: '| Gateway → Provider | `hello.ack` | After `hello` | — |',
    tests: ['a provider sends auth and hello, and is bound'],
  },
  {
    id: 'P098',
    sentence: '| Gateway → Provider | `tool.call` | Copilot invokes tool | `tool.result` (**required**) |',
    tests: [
      'are sent with an id of their own and the session',
      'offers its tools, and answers calls by name and through mcp.tools.call',
    ],
  },
  {
    id: 'P099',
    sentence: '| Provider → Gateway | `tool.result` | After `tool.call`/`tool.cancel` | — |',
    tests: ['H06 the first result counts, later ones are dropped without an error'],
  },
  {
    id: 'P100',
    sentence:
      '| Gateway → Provider | `tool.cancel` | Timeout/interrupt | `tool.result` with `CANCELLED` (**required**) |',
    tests: ['of a call by its caller is sent to the provider with the reason'],
  },
  {
    id: 'P101',
    sentence: '| Provider → Gateway | `push` | Store/surface/inject provider event | — |',
    tests: [
      'with level %s is passed on',
      'kept and surfaced texts are in the streams of the session, and an injected text becomes a message',
    ],
  },
  {
    id: 'P102',
    sentence: '| Provider → Gateway | `tools.update` | Replace provider tool list | — |',
    tests: ['replaces the list without an answer', 'change in one announcement for many providers'],
  },
  {
    id: 'P103',
    sentence: '| Gateway → Provider | `session.lifecycle` | State change | `goodbye` on shutdown (recommended) |',
    tests: [
      'gets lifecycle messages for runs of its session',
      'of the gateway gives providers time to send goodbye',
      'of a session is announced to its providers',
    ],
  },
  {
    id: 'P104',
    sentence: '| Gateway → Provider | `error` | Invalid message | — |',
    tests: [
      'the text %.20j gets INVALID_JSON in every state',
      'an unknown type is refused by name, and the connection stays',
    ],
  },
  {
    id: 'P105',
    sentence: '| Provider → Gateway | `goodbye` | Before disconnect | — |',
    tests: [
      'removes the tools and fails all pending calls, after goodbye or a lost connection',
      'are removed after goodbye and after a lost connection, and return with a new one',
    ],
  },
  {
    id: 'P106',
    sentence: 'The Copilot SDK does **not** expose a `tools.add` or `tools.update` RPC.',
    reason: 'about the SDK and the CLI of Copilot, which are not used here',
  },
  {
    id: 'P107',
    sentence: 'Tools are declared once at session creation/resume time and sent to the CLI in that initial handshake.',
    reason: 'about the SDK and the CLI of Copilot, which are not used here',
  },
  {
    id: 'P108',
    sentence: 'To add or remove provider tools mid-session the Gateway uses two mechanisms together:',
    reason: 'about the SDK and the CLI of Copilot, which are not used here',
  },
  {
    id: 'P109',
    sentence: '`CopilotSession.registerTools(tools)` replaces the in-memory handler map (a `Map<name, handler>`).',
    reason: 'about the SDK and the CLI of Copilot, which are not used here',
  },
  {
    id: 'P110',
    sentence: 'This controls which tool calls the SDK can dispatch locally.',
    reason: 'about the SDK and the CLI of Copilot, which are not used here',
  },
  {
    id: 'P111',
    sentence: 'The Gateway calls this whenever the combined set of tap + provider tools changes:',
    reason: 'about the SDK and the CLI of Copilot, which are not used here',
  },
  {
    id: 'P112',
    sentence:
      'This alone is **not sufficient** — the CLI still has the old tool list from the original session handshake.',
    reason: 'about the SDK and the CLI of Copilot, which are not used here',
  },
  {
    id: 'P113',
    sentence: 'The SDK exposes an experimental RPC:',
    reason: 'about the SDK and the CLI of Copilot, which are not used here',
  },
  {
    id: 'P114',
    sentence:
      'This triggers a full re-join: the CLI tears down the current extension session and calls `joinSession()` again, which sends the new `tools` array via the `session.resume` RPC.',
    reason: 'about the SDK and the CLI of Copilot, which are not used here',
  },
  {
    id: 'P115',
    sentence: '`session.rpc.extensions.reload()` re-runs the extension entry point (`extension.mjs`) from scratch.',
    reason: 'about the SDK and the CLI of Copilot, which are not used here',
  },
  {
    id: 'P116',
    sentence: 'A naïve implementation would lose all runtime state (running emitters, stream history, config).',
    reason: 'about the SDK and the CLI of Copilot, which are not used here',
  },
  {
    id: 'P117',
    sentence: 'The solution is to cache the runtime on `globalThis` so it persists across reloads:',
    reason: 'about the SDK and the CLI of Copilot, which are not used here',
  },
  {
    id: 'P118',
    sentence:
      'The existing `sessionPort` abstraction already supports session swapping via `attachSession()`, so the new session handle is wired in cleanly without disrupting running emitters or streams.',
    reason: 'about the SDK and the CLI of Copilot, which are not used here',
  },
  {
    id: 'P119',
    sentence: 'A provider sends **one `hello` message** containing **all** its tools:',
    tests: [
      'offers its tools, and answers calls by name and through mcp.tools.call',
      '50 providers with 100 tools each are offered, announced once, called and taken away',
    ],
  },
  {
    id: 'P120',
    sentence: '**1 provider connection = 1 `hello` = 1 reload**, regardless of how many tools it declares.',
    tests: [
      'change in one announcement for many providers',
      '50 providers with 100 tools each are offered, announced once, called and taken away',
    ],
  },
  {
    id: 'P121',
    sentence:
      'For multiple providers connecting around the same time, the Gateway should **debounce** the reload call to batch them into a single reload:',
    tests: ['change in one announcement for many providers'],
  },
  {
    id: 'P122',
    sentence: 'This ensures that even 5 providers connecting simultaneously result in a single reload.',
    tests: ['change in one announcement for many providers'],
  },
  {
    id: 'P123',
    sentence: '`session.rpc.extensions.reload()` is marked **`@experimental`** in the SDK (`dist/generated/rpc.js`).',
    reason: 'about the SDK and the CLI of Copilot, which are not used here',
  },
  {
    id: 'P124',
    sentence: 'Its behavior or availability may change.',
    reason: 'about the SDK and the CLI of Copilot, which are not used here',
  },
  {
    id: 'P125',
    sentence: 'There is no incremental tool update — each reload sends the full tool list.',
    reason: 'an announcement only states that a list has changed, and listeners read all of it',
  },
  {
    id: 'P126',
    sentence: 'This is fine for the expected scale (≤100 tools per provider, per spec).',
    tests: ['50 providers with 100 tools each are offered, announced once, called and taken away'],
  },
  {
    id: 'P127',
    sentence: "`tools.update` replaces the provider's full tool list.",
    tests: ['replaces the list without an answer'],
  },
  {
    id: 'P128',
    sentence:
      'The minimal core profile does not implement request acknowledgments, revision numbers, or per-tool deltas.',
    tests: ['replaces the list without an answer'],
  },
  {
    id: 'P129',
    sentence: 'These are in the [full spec](./provider-interface-v2.md), not here:',
    reason: 'introduces what is left out',
  },
  { id: 'P130', sentence: 'External/browser providers and pairing auth', reason: 'not in the core profile' },
  { id: 'P131', sentence: '`"all"` session binding, `session.ready`', reason: 'not in the core profile' },
  { id: 'P132', sentence: 'Hooks, gates, transforms', reason: 'not in the core profile' },
  { id: 'P133', sentence: 'Stream filters and `stream.query`', reason: 'not in the core profile' },
  {
    id: 'P134',
    sentence: 'Advanced dynamic updates (`hooks.update`, `context.update`, `filter.set`) and update revisions/acks',
    reason: 'not in the core profile',
  },
  { id: 'P135', sentence: 'Multi-instance providers, reconnect tokens', reason: 'not in the core profile' },
  {
    id: 'P136',
    sentence: 'Concurrency limits, tool progress (`tool.progress`)',
    tests: ['an unknown type is refused by name, and the connection stays'],
  },
  { id: 'P137', sentence: 'Session events (`session.event`, `subscribe`)', reason: 'not in the core profile' },
]

interface Requirement {
  readonly id: string
  readonly sentence: string
  readonly tests?: readonly string[]
  readonly reason?: string
}
