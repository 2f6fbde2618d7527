import type { CallerRequest, ConversationShape, EncodeContext, UpstreamDialectId } from '../../dialect.ts'
import type { ModelTraits } from '../../model-traits.ts'
import { refuseValue, toFieldPath } from '../request/invalid.ts'
import { mediaOf, type MediaPart, replaceMedia } from './media-parts.ts'
import { mediaOfTurn, replaceInTurn } from './turn-media.ts'
import { exceedsToolLimit } from '../request/shared-checks.ts'
import type { Turn, TurnPart } from '../../turn.ts'
import type { Warning } from '../../warning.ts'

/** The facts of a request that decide which routes can carry it. */
export type RouteNeeds = Pick<CallerRequest, 'hasDocument' | 'toolCount'>

interface RouteLimit {
  readonly source: string
  readonly exceeds: (needs: RouteNeeds, upstream: UpstreamDialectId, model: ModelTraits) => boolean
}

/** What a route cannot carry. A request goes by another route of its model then, if the model has one. */
const routeLimits: readonly RouteLimit[] = [
  {
    source: 'docs/copilot-wire.md, "Parameters by model", files',
    exceeds: ({ hasDocument }, upstream) => hasDocument && !takesDocuments(upstream),
  },
  {
    source: 'docs/copilot-wire.md, "Parameters by model", tools',
    exceeds: ({ toolCount }, upstream, model) => upstream !== 'messages' && exceedsToolLimit(toolCount, model),
  },
]

/** Whether a route can carry a request. */
export function canCarry(upstream: UpstreamDialectId, needs: RouteNeeds, model: ModelTraits): boolean {
  return !routeLimits.some(({ exceeds }) => exceeds(needs, upstream, model))
}

function takesDocuments(upstream: UpstreamDialectId): boolean {
  return upstream !== 'chat'
}

/**
 * Fits a request with documents to a route that takes none. Replaces documents of the history and of tool results with a
 * text, because they would fail every later request of the session.
 * @returns undefined if nothing has to change
 * @throws Fault `invalid_request` for a document of the newest prompt, which the person can send without it
 */
export function limitDocuments(
  request: CallerRequest,
  { member, textType, itemsOf, mapItems }: ConversationShape,
  upstream: UpstreamDialectId,
  context: EncodeContext,
): { readonly request: CallerRequest; readonly warnings: readonly Warning[] } | undefined {
  if (!request.hasDocument || takesDocuments(upstream)) return undefined
  const omitted = omittedDocuments(mediaOf(itemsOf(request), member, 'document'), context)
  if (omitted === undefined) return undefined
  const { removed, warnings } = omitted
  return { request: mapItems(request, replaceMedia(removed, textType, OMITTED_DOCUMENT)), warnings }
}

/** As `limitDocuments`, for a caller of a dialect that no upstream speaks. Warnings name the item of a document. */
export function limitDocumentsInTurn(
  turn: Turn,
  upstream: UpstreamDialectId,
  context: EncodeContext,
): { readonly turn: Turn; readonly warnings: readonly Warning[] } | undefined {
  if (takesDocuments(upstream)) return undefined
  const omitted = omittedDocuments<TurnPart>(mediaOfTurn(turn, 'file'), context)
  return omitted && { turn: replaceInTurn(turn, omitted.removed, OMITTED_DOCUMENT), warnings: omitted.warnings }
}

const OMITTED_DOCUMENT = '[Document omitted: the model takes no documents.]'

function omittedDocuments<Part>(
  documents: readonly MediaPart<Part>[],
  { model }: EncodeContext,
): { readonly removed: ReadonlySet<Part>; readonly warnings: readonly Warning[] } | undefined {
  const ofPrompt = documents.find(({ isOfPrompt }) => isOfPrompt)
  const detail = `${model.id} takes no documents on Chat Completions`
  if (ofPrompt !== undefined) {
    refuseValue(toFieldPath(ofPrompt.path), `${detail}; send its text, or use another model`, 'unsupported_value')
  }
  const [first] = documents
  if (first === undefined) return undefined
  const counted = documents.length === 1 ? '' : ` (${documents.length} documents)`
  return {
    removed: new Set(documents.map(({ part }) => part)),
    warnings: [{ code: 'dropped', field: first.path, detail: `${detail}; replaced by a text${counted}` }],
  }
}
