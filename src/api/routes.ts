import { z } from 'zod'
import { changeList, rewindInput, rewindReport, undoInput, undoReport } from './changes.ts'
import { daemonEvent } from './events.ts'
import { errorBody } from './error.ts'
import {
  acceptedMessage,
  codeInput,
  conversationInput,
  decisionInput,
  editorInput,
  messageInput,
  newConversationInput,
  tokenInput,
} from './inputs.ts'
import { keyList } from './keys.ts'
import { loginReport, logoutReport } from './logins.ts'
import { modelList, modelRow } from './models.ts'
import { policyInput, policyList } from './policies.ts'
import { requestDetail, requestList } from './requests.ts'
import { cancelledRun, decidedApproval, editorReceipt, runReport } from './run.ts'
import { relayInput, relayOutput } from './server-relay.ts'
import {
  conversationEntry,
  conversationList,
  entryList,
  messageList,
  serverList,
  fileList,
  promptList,
  sessionList,
  sessionPolicy,
  streamList,
} from './sessions.ts'
import { accountList, loginStatus } from './status.ts'
import { cacheReport, callerReport, greeting, health, readiness, selfCheck } from './state.ts'
import { allowance, usageReport } from './usage.ts'

/** `GET /openapi.json`. Source: OpenAPI Specification 3.1.1 (2024-10). */
const openApi = z.looseObject({ openapi: z.literal('3.1.1'), paths: z.record(z.string(), z.unknown()) })

/** The bodies of the daemon's own routes by the names that they have in its description. */
export const schemas = {
  AcceptedMessage: acceptedMessage,
  AccountList: accountList,
  Allowance: allowance,
  CacheReport: cacheReport,
  CallerReport: callerReport,
  CancelledRun: cancelledRun,
  ChangeList: changeList,
  CodeInput: codeInput,
  Conversation: conversationEntry,
  ConversationInput: conversationInput,
  ConversationList: conversationList,
  DecidedApproval: decidedApproval,
  DecisionInput: decisionInput,
  EditorInput: editorInput,
  EditorReceipt: editorReceipt,
  EntryList: entryList,
  Error: errorBody,
  Event: daemonEvent,
  Greeting: greeting,
  Health: health,
  KeyList: keyList,
  LoginReport: loginReport,
  LoginStatus: loginStatus,
  LogoutReport: logoutReport,
  MessageInput: messageInput,
  MessageList: messageList,
  Model: modelRow,
  ModelList: modelList,
  NewConversationInput: newConversationInput,
  OpenApi: openApi,
  PolicyInput: policyInput,
  PolicyList: policyList,
  Readiness: readiness,
  RelayInput: relayInput,
  RelayOutput: relayOutput,
  RequestDetail: requestDetail,
  RequestList: requestList,
  RunReport: runReport,
  SelfCheck: selfCheck,
  ServerList: serverList,
  FileList: fileList,
  PromptList: promptList,
  RewindInput: rewindInput,
  RewindReport: rewindReport,
  SessionList: sessionList,
  SessionPolicy: sessionPolicy,
  StreamList: streamList,
  TokenInput: tokenInput,
  UndoInput: undoInput,
  UndoReport: undoReport,
  UsageReport: usageReport,
} as const satisfies Readonly<Record<string, z.ZodType>>

type SchemaName = keyof typeof schemas

/** A route of the daemon itself, besides those of the three dialects, of MCP and of /rpc. */
interface OwnRoute {
  readonly method: 'get' | 'post' | 'patch' | 'delete'
  /** With parameters in braces. */
  readonly path: string
  readonly summary: string
  /** Needs no key. */
  readonly isPublic?: true
  readonly query?: Readonly<Record<string, z.ZodType>>
  readonly input?: SchemaName
  /** The status of success, and its body: JSON by its schema, another content type, or nothing. */
  readonly status?: 200 | 201 | 202 | 204
  readonly answer?: SchemaName
  readonly type?: 'text/event-stream' | 'text/plain' | 'text/javascript'
  /** The route is a WebSocket, over which the two send JSON as text. */
  readonly socket?: { readonly client: SchemaName; readonly server: SchemaName }
}

const page = {
  limit: z.int().min(1).max(500).optional(),
  /** Only those older than the one with this id. */
  before: z.string().optional(),
}

export const ownRoutes: readonly OwnRoute[] = [
  {
    method: 'get',
    path: '/',
    summary: 'Greets programs, and sends the page to browsers (`Accept: text/html`)',
    isPublic: true,
    answer: 'Greeting',
  },
  { method: 'get', path: '/api/hello', summary: 'Greets programs', isPublic: true, answer: 'Greeting' },
  {
    method: 'get',
    path: '/healthz',
    summary: 'States whether the providers are available',
    isPublic: true,
    answer: 'Health',
  },
  {
    method: 'get',
    path: '/readyz',
    summary: 'Fails while no provider is available',
    isPublic: true,
    answer: 'Readiness',
  },
  { method: 'get', path: '/openapi.json', summary: 'Describes the routes of copilot-proxy itself', answer: 'OpenApi' },
  {
    method: 'get',
    path: '/metrics',
    summary: 'Counts requests, tokens and credits for Prometheus',
    type: 'text/plain',
  },
  {
    method: 'get',
    path: '/usage',
    summary: 'States the quota of the account and the usage through copilot-proxy',
    query: {
      /** `true`: answer without the account if the provider does not report it. */
      partial: z.enum(['true', 'false']).optional(),
      /** `false`: answer without asking for the account. */
      account: z.enum(['true', 'false']).optional(),
    },
    answer: 'UsageReport',
  },
  {
    method: 'post',
    path: '/usage/allow',
    summary: 'Lifts the budgets of the owner until midnight',
    answer: 'Allowance',
  },
  { method: 'get', path: '/cache', summary: 'States why prompts were not read from the cache', answer: 'CacheReport' },
  { method: 'get', path: '/self-check', summary: 'Asks each provider for its models', answer: 'SelfCheck' },
  { method: 'get', path: '/caller', summary: 'States who the caller is', answer: 'CallerReport' },
  {
    method: 'get',
    path: '/requests',
    summary: 'Lists the last requests',
    query: {
      limit: z.int().min(1).max(1000).optional(),
      key: z.string().optional(),
      model: z.string().optional(),
      failed: z.enum(['true', 'false']).optional(),
      /** Only those that ended after the request with this id. */
      after: z.string().optional(),
    },
    answer: 'RequestList',
  },
  { method: 'get', path: '/requests/{id}', summary: 'Shows one request', answer: 'RequestDetail' },
  {
    method: 'get',
    path: '/v1/models',
    summary: 'Lists the models, also at /models',
    query: { include: z.literal('disabled').optional() },
    answer: 'ModelList',
  },
  { method: 'get', path: '/v1/models/{id}', summary: 'Shows one model by any of its names', answer: 'Model' },
  { method: 'post', path: '/models/refresh', summary: 'Fetches the models of the account again', status: 204 },
  {
    method: 'get',
    path: '/policies',
    summary: 'Lists the models whose terms the account has not accepted',
    answer: 'PolicyList',
  },
  {
    method: 'post',
    path: '/policies',
    summary: 'Accepts the terms of a model',
    input: 'PolicyInput',
    status: 204,
  },
  { method: 'get', path: '/keys', summary: 'Lists the keys with their limits and their use', answer: 'KeyList' },
  { method: 'get', path: '/status', summary: 'States how the logins are stored', answer: 'LoginStatus' },
  { method: 'get', path: '/accounts', summary: 'Lists the stored GitHub accounts', answer: 'AccountList' },
  { method: 'get', path: '/logins', summary: 'Lists the logins', answer: 'LoginReport' },
  {
    method: 'post',
    path: '/logins/{provider}',
    summary: 'Starts a login with a code, or returns the one that is under way',
    answer: 'LoginReport',
  },
  {
    method: 'post',
    path: '/logins/{provider}/cancel',
    summary: 'Cancels the login that is under way',
    answer: 'LoginReport',
  },
  {
    method: 'delete',
    path: '/logins/{provider}',
    summary: 'Deletes the login in use',
    answer: 'LogoutReport',
  },
  {
    method: 'post',
    path: '/page/codes',
    summary: 'Registers a code that opens the page',
    input: 'CodeInput',
    status: 204,
  },
  {
    method: 'post',
    path: '/page/tokens',
    summary: 'Makes a page the one of the owner',
    isPublic: true,
    input: 'TokenInput',
    status: 204,
  },
  {
    method: 'get',
    path: '/page/{name}',
    summary: 'Sends a script or a style of the page',
    isPublic: true,
    type: 'text/javascript',
  },
  { method: 'get', path: '/sessions', summary: 'Lists the sessions: one for each workspace', answer: 'SessionList' },
  {
    method: 'get',
    path: '/sessions/{id}/messages',
    summary: 'Lists the messages of a session',
    query: { ...page, conversation: z.string().optional() },
    answer: 'MessageList',
  },
  {
    method: 'get',
    path: '/sessions/{id}/conversations',
    summary: 'Lists the conversations of a session',
    answer: 'ConversationList',
  },
  {
    method: 'post',
    path: '/sessions/{id}/conversations',
    summary: 'Begins a conversation, also as a fork of another one',
    input: 'NewConversationInput',
    status: 201,
    answer: 'Conversation',
  },
  {
    method: 'patch',
    path: '/sessions/{id}/conversations/{conversationId}',
    summary: 'Renames a conversation',
    input: 'ConversationInput',
    answer: 'Conversation',
  },
  {
    method: 'delete',
    path: '/sessions/{id}/conversations/{conversationId}',
    summary: 'Deletes a conversation with its messages and runs',
    status: 204,
  },
  {
    method: 'post',
    path: '/sessions/{id}/conversations/{conversationId}/rewind',
    summary: 'Takes a conversation, and the files that its runs have changed, back to before a message',
    input: 'RewindInput',
    answer: 'RewindReport',
  },
  {
    method: 'get',
    path: '/sessions/{id}/conversations/{conversationId}/servers',
    summary: 'Gives the MCP servers of the program at the other end to the runs of a conversation. For the owner',
    socket: { client: 'RelayInput', server: 'RelayOutput' },
  },
  {
    method: 'delete',
    path: '/sessions/{id}/history',
    summary: 'Deletes the messages and runs of a session',
    status: 204,
  },
  { method: 'get', path: '/sessions/{id}/streams', summary: 'Lists what providers have sent', answer: 'StreamList' },
  {
    method: 'get',
    path: '/sessions/{id}/streams/{name}',
    summary: 'Lists the entries of a stream',
    query: page,
    answer: 'EntryList',
  },
  {
    method: 'get',
    path: '/sessions/{id}/policy',
    summary: 'Shows what is allowed in a workspace',
    answer: 'SessionPolicy',
  },
  {
    method: 'get',
    path: '/sessions/{id}/files',
    summary: 'Lists the files of a session that a message can name',
    answer: 'FileList',
  },
  {
    method: 'get',
    path: '/sessions/{id}/servers',
    summary: 'Lists the MCP servers of a session',
    answer: 'ServerList',
  },
  {
    method: 'get',
    path: '/sessions/{id}/prompts',
    summary:
      'Lists the prompts of the MCP servers of a session, and starts these servers. Of a conversation: those of its editor too',
    query: { conversation: z.string().optional() },
    answer: 'PromptList',
  },
  {
    method: 'post',
    path: '/message',
    summary: 'Starts a run',
    input: 'MessageInput',
    status: 202,
    answer: 'AcceptedMessage',
  },
  { method: 'get', path: '/runs/{id}', summary: 'Shows a run', answer: 'RunReport' },
  { method: 'post', path: '/runs/{id}/cancel', summary: 'Cancels a run', status: 202, answer: 'CancelledRun' },
  {
    method: 'get',
    path: '/sessions/{id}/changes',
    summary: 'Lists the changes that tools have made, with what they have done together',
    query: {
      /** The id of a run: only from its first change on. */
      since: z.string().optional(),
      /** `false`: without what they have done together. */
      diff: z.enum(['true', 'false']).optional(),
    },
    answer: 'ChangeList',
  },
  {
    method: 'post',
    path: '/changes/{id}/undo',
    summary: 'Undoes a change of files, or shows what would come back',
    input: 'UndoInput',
    answer: 'UndoReport',
  },
  {
    method: 'post',
    path: '/runs/{id}/undo',
    summary: 'Undoes all changes of a run or none, or shows what would come back',
    input: 'UndoInput',
    answer: 'UndoReport',
  },
  {
    method: 'post',
    path: '/approvals/{id}',
    summary: 'Decides an approval',
    input: 'DecisionInput',
    answer: 'DecidedApproval',
  },
  {
    method: 'post',
    path: '/runs/{id}/editor',
    summary: 'Answers what a run asks about a file in an editor',
    input: 'EditorInput',
    answer: 'EditorReceipt',
  },
  {
    method: 'get',
    path: '/events',
    summary: 'Sends the events of the sessions: the name of an event is `type` of its schema',
    query: { session: z.string().optional(), lastEventId: z.string().optional() },
    answer: 'Event',
    type: 'text/event-stream',
  },
]
