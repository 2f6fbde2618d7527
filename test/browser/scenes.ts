import type { RequestDetail, RequestDocument } from '../../src/api/requests.ts'
import type { MessageEntry } from '../../src/api/run.ts'
import type { SessionEntry } from '../../src/api/sessions.ts'
import type { FakeDaemon, FakeState } from './fake-daemon.ts'

/*
 * What the fake daemon shows. Times are fixed, so that pictures stay the same.
 */

const at = (second: number) => new Date(Date.UTC(2026, 10, 24, 14, 3, second)).toISOString()

export const shop: SessionEntry = {
  id: 'k3v7mcq2xa',
  name: 'shop',
  path: '/home/ada/code/shop',
  tools: ['fs_read', 'fs_list', 'search_code', 'edit_applyPatch', 'shell_run'],
  runs: [],
  readOnly: false,
  sandbox: {
    setting: 'auto',
    holds: 'bubblewrap',
    description: 'Commands run in bubblewrap 0.8.0: they write only the workspace.',
  },
}
export const site: SessionEntry = {
  id: 'b6pw2nzt4e',
  name: 'site',
  path: '/home/ada/code/site',
  tools: ['fs_read'],
  runs: [],
  readOnly: false,
  sandbox: { setting: 'auto', holds: 'none', description: 'Commands run as you: bubblewrap (bwrap) is not installed.' },
}

export const history: readonly MessageEntry[] = [
  {
    conversationId: 'c1',
    id: 'run-old',
    text: 'Where is the price of an order computed?',
    mode: 'chat',
    model: 'gpt-5-mini',
    time: new Date(Date.UTC(2026, 10, 24, 9, 41, 7)).toISOString(),
    origin: 'user',
    state: 'ended',
    outcome: 'completed',
    answer: 'In `src/total.ts`: **`totalOf`** adds the lines of an order, then the shipping.',
    summary: '',
  },
]

/** The MCP servers and streams of the session. */
export const sessionDetails: Pick<FakeState, 'servers' | 'streams' | 'entries'> = {
  servers: [
    {
      name: 'issues',
      state: 'running',
      tools: ['issues_list', 'issues_read'],
      resources: [{ name: 'labels', description: 'The labels of the repository' }],
      templates: [],
      prompts: [{ name: 'triage' }],
    },
    {
      name: 'search',
      state: 'failed',
      error: 'The program ended with exit code 1.',
      tools: [],
      resources: [],
      templates: [],
      prompts: [],
    },
  ],
  streams: [{ name: 'builds', entries: 2, lastTime: at(40) }],
  entries: [
    { id: '1', provider: 'ci', level: 'keep', text: 'Build 40 passed.', time: at(2) },
    { id: '2', provider: 'ci', level: 'surface', text: 'Build 41 failed.', time: at(40) },
    // An audit line of the stream `tool-calls`.
    { id: '3', time: at(41), tool: 'mcp.fs.read', outcome: 'ok' },
  ],
}

const patch = `--- a/src/total.ts
+++ b/src/total.ts
@@ -1,8 +1,8 @@
 import type { Order } from './order.ts'
 
 /** In cents. */
 export function totalOf({ lines, shipping }: Order): number {
-  let total = 0
-  for (const line of lines) total += line.price
-  return total + shipping
+  const goods = lines.reduce((sum, line) => sum + line.price * line.quantity, 0)
+  return goods + shipping
 }
`

const run = { id: 'run-fix', sessionId: shop.id }

/** An agent that has read, proposes a patch and waits. */
export function untilApproval({ emitAll }: FakeDaemon): void {
  emitAll([
    {
      ...run,
      type: 'inbound',
      time: at(0),
      mode: 'agent',
      origin: 'user',
      text: 'The test of totals fails. Find out why and fix it.',
    },
    { ...run, type: 'fragment', time: at(1), kind: 'step', step: 1, text: 'Step 1 of 30' },
    { ...run, type: 'fragment', time: at(1), kind: 'commentary', text: 'I run the test to see how it fails.' },
    {
      ...run,
      type: 'tool',
      time: at(2),
      callId: 'c1',
      tool: 'shell_run',
      step: 1,
      state: 'started',
      args: { argv: ['npm', 'test'] },
    },
    {
      ...run,
      type: 'approval',
      time: at(2),
      approvalId: 'a1',
      callId: 'c1',
      tool: 'shell_run',
      state: 'pending',
      argv: ['npm', 'test'],
      cwd: '.',
    },
    { ...run, type: 'approval', time: at(5), approvalId: 'a1', callId: 'c1', tool: 'shell_run', state: 'run' },
    {
      ...run,
      type: 'tool',
      time: at(6),
      callId: 'c1',
      tool: 'shell_run',
      step: 1,
      state: 'progress',
      text: '✖ adds the lines of an order\n  expected 2400, got 1400\n',
    },
    {
      ...run,
      type: 'tool',
      time: at(7),
      callId: 'c1',
      tool: 'shell_run',
      step: 1,
      state: 'ended',
      outcome: 'ok',
      message: 'exit code 1',
      result: '✖ adds the lines of an order\n  expected 2400, got 1400\n',
      durationMs: 1840,
    },
    { ...run, type: 'fragment', time: at(8), kind: 'step', step: 2, text: 'Step 2 of 30' },
    {
      ...run,
      type: 'tool',
      time: at(8),
      callId: 'c2',
      tool: 'fs_read',
      step: 2,
      state: 'started',
      args: { path: 'src/total.ts' },
    },
    {
      ...run,
      type: 'tool',
      time: at(8),
      callId: 'c2',
      tool: 'fs_read',
      step: 2,
      state: 'ended',
      outcome: 'ok',
      message: '1 line',
      result: "import type { Order } from './order.ts'",
      durationMs: 3,
    },
    {
      ...run,
      type: 'tool',
      time: at(9),
      callId: 'c3',
      tool: 'fs_read',
      step: 2,
      state: 'started',
      args: { path: 'src/orders.ts' },
    },
    {
      ...run,
      type: 'tool',
      time: at(9),
      callId: 'c3',
      tool: 'fs_read',
      step: 2,
      state: 'ended',
      outcome: 'failed',
      message: 'There is no file src/orders.ts.',
      durationMs: 1,
    },
    { ...run, type: 'fragment', time: at(10), kind: 'step', step: 3, text: 'Step 3 of 30' },
    {
      ...run,
      type: 'fragment',
      time: at(10),
      kind: 'commentary',
      text: '`totalOf` forgets the quantity of each line.',
    },
    {
      ...run,
      type: 'tool',
      time: at(11),
      callId: 'c4',
      tool: 'edit_applyPatch',
      step: 3,
      state: 'started',
      args: { unifiedDiff: patch },
    },
    {
      ...run,
      type: 'approval',
      time: at(11),
      approvalId: 'a2',
      callId: 'c4',
      tool: 'edit_applyPatch',
      state: 'pending',
      diff: patch,
      paths: ['src/total.ts'],
    },
  ])
}

/** After the person allowed the patch. */
export function untilDone({ emitAll }: FakeDaemon): void {
  const files = [{ path: 'src/total.ts', change: 'modified' as const, added: 2, removed: 3 }]
  emitAll([
    { ...run, type: 'approval', time: at(20), approvalId: 'a2', callId: 'c4', tool: 'edit_applyPatch', state: 'once' },
    { ...run, type: 'diff', time: at(20), callId: 'c4', patchId: 'p1', diff: patch, files },
    {
      ...run,
      type: 'tool',
      time: at(20),
      callId: 'c4',
      tool: 'edit_applyPatch',
      step: 3,
      state: 'ended',
      outcome: 'ok',
      message: '1 file changed',
      durationMs: 12,
    },
    { ...run, type: 'fragment', time: at(21), kind: 'step', step: 4, text: 'Step 4 of 30' },
    {
      ...run,
      type: 'tool',
      time: at(21),
      callId: 'c5',
      tool: 'shell_run',
      step: 4,
      state: 'started',
      args: { argv: ['npm', 'test'] },
    },
    {
      ...run,
      type: 'tool',
      time: at(23),
      callId: 'c5',
      tool: 'shell_run',
      step: 4,
      state: 'ended',
      outcome: 'ok',
      message: 'exit code 0',
      result: '✔ adds the lines of an order\n',
      durationMs: 1790,
    },
    {
      ...run,
      type: 'fragment',
      time: at(24),
      kind: 'answer',
      text: 'The test passes now. `totalOf` added the price of each line once, whatever its **quantity**:\n\n```ts\nconst goods = lines.reduce((sum, line) => sum + line.price * line.quantity, 0)\n```\n\n- changed: `src/total.ts`\n- left alone: the shipping\n',
    },
    {
      ...run,
      type: 'done',
      time: at(24),
      outcome: 'completed',
      reason: 'The model gave its final answer.',
      summary: 'Changed 1 file: src/total.ts (+2 −3).',
      answer: 'The test passes now.',
      model: 'gpt-5-mini',
      steps: 4,
      requests: 4,
      files,
      usage: { inputTokens: 18_240, outputTokens: 912, cachedInputTokens: 14_080, credits: 0.41 },
    },
  ])
}

/** Text that tries to be more than text. */
export const hostile =
  '<img src=x onerror="document.title=1"><script>document.title=2</script>\n\n' +
  '[click](javascript:document.title=3) [data](data:text/html,x) ![pixel](https://evil.example/p.png)\n\n' +
  '<a href="javascript:1">a</a> <style>body{display:none}</style>'

const row: RequestDocument = {
  id: '6f1c2a9b-0000-4000-8000-000000000001',
  time: at(24),
  client: 'claude',
  user_agent: 'claude-cli/2.1.0 (external, cli)',
  key: null,
  api: 'messages',
  method: 'POST',
  path: '/v1/messages',
  asked_model: 'claude-sonnet-4-6',
  model: 'claude-sonnet-4.6',
  route: 'copilot/messages',
  fallback: null,
  status: 200,
  http_status: 200,
  failed: false,
  stream: true,
  input_tokens: 24_310,
  output_tokens: 842,
  cached_input_tokens: 22_016,
  credits: 0.84,
  search_credits: null,
  safeguards_credits: null,
  estimated: false,
  first_byte_ms: 812,
  duration_ms: 9_420,
  warnings: [],
  repeated_warnings: [],
  adapted: [],
  error: null,
  upstream_request_id: 'C0FE:1A2B:3C4D',
}

export const requests: readonly RequestDocument[] = [
  row,
  {
    ...row,
    id: '7a2c2a9b-0000-4000-8000-000000000002',
    time: at(19),
    client: 'opencode',
    api: 'chat',
    path: '/v1/chat/completions',
    asked_model: 'gpt-5-mini',
    model: 'gpt-5-mini',
    route: 'copilot/chat',
    input_tokens: 3_204,
    output_tokens: 96,
    credits: 0.02,
    first_byte_ms: 402,
    duration_ms: 1_310,
    warnings: ['dropped;temperature (the model takes its default only)'],
    adapted: ['max_tokens (sent as max_completion_tokens)'],
  },
  {
    ...row,
    id: '8b3c2a9b-0000-4000-8000-000000000003',
    time: at(11),
    client: 'codex',
    api: 'responses',
    path: '/v1/responses',
    asked_model: 'gpt-5.4-codex',
    model: 'gpt-5.4-codex',
    route: 'codex/responses',
    input_tokens: 41_880,
    output_tokens: 2_204,
    credits: null,
    first_byte_ms: 1_640,
    duration_ms: 21_770,
  },
  {
    ...row,
    id: '9c4c2a9b-0000-4000-8000-000000000004',
    time: at(2),
    client: 'curl',
    api: 'chat',
    path: '/v1/chat/completions',
    asked_model: 'gpt-6',
    model: null,
    route: null,
    status: 404,
    http_status: 404,
    failed: true,
    stream: null,
    input_tokens: null,
    output_tokens: null,
    cached_input_tokens: null,
    credits: null,
    first_byte_ms: null,
    duration_ms: 2,
    error: 'No model is called "gpt-6". Near: gpt-5-mini.',
    upstream_request_id: null,
  },
]

export const detail: RequestDetail = {
  ...row,
  warnings: ['dropped;temperature (the model takes its default only)'],
  adapted: ['max_tokens (sent as max_completion_tokens)'],
  bodies: 'kept',
  request_headers: { 'anthropic-version': '2023-06-01', accept: 'application/json' },
  request_body:
    '{"model":"claude-sonnet-4-6","max_tokens":100,"messages":[{"role":"user","content":"It\'s <b>me</b>"}]}',
  request_body_truncated: false,
  answer_body: 'event: message_start\ndata: {"type":"message_start"}\n\n',
  answer_body_truncated: false,
}
