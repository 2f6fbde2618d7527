import type { TurnAccepts } from '../dialect.ts'
import { isEffort } from '../parts/effort.ts'

// What `recover` has learned of a model, in the words of `EncodeContext.lessons`.

/** Namespace tools are refused: they have to be flattened, and the reply restored, which only a translation does. */
export const NO_NAMESPACES = 'namespaces'
/** Freeform tools are refused: they have to be wrapped as functions. */
export const NO_CUSTOM_TOOLS = 'custom_tools'
/** `include: ["reasoning.encrypted_content"]` is refused: the model has no reasoning to hand back. */
export const NO_ENCRYPTED_CONTENT = 'encrypted_content'

/** The ChatGPT backend takes the model in the lite form only. */
export const LITE = 'lite'

/** Item ids do not fit the opaque values they stand beside; upstream finds the values without them. */
export const NO_ITEM_IDS = 'item_ids'

/** `prompt_cache_breakpoint` on parts and `prompt_cache_options` are refused. */
export const NO_BREAKPOINTS = 'breakpoints'

const FIELD = 'field:'
const TOOL = 'tool:'
const EFFORTS = 'efforts:'

/** @param path as in `reasoning.summary`, `input[].phase`; `[]` stands for every element */
export function fieldLesson(path: string): string {
  return FIELD + path
}

/** @param type of a tool that upstream was to run itself, e.g. `web_search` */
export function toolLesson(type: string): string {
  return TOOL + type
}

/** @param efforts all levels the model takes */
export function effortsLesson(efforts: readonly string[]): string {
  return EFFORTS + efforts.join(',')
}

/** Paths of members upstream refuses. */
export function refusedFields(lessons: ReadonlySet<string>): readonly string[] {
  return [...lessons].filter((lesson) => lesson.startsWith(FIELD)).map((lesson) => lesson.slice(FIELD.length))
}

export function isRefusedTool(type: string, lessons: ReadonlySet<string>): boolean {
  return lessons.has(TOOL + type)
}

/** The levels upstream named when it refused one; undefined where it never did. */
export function learnedEfforts(lessons: ReadonlySet<string>): readonly string[] | undefined {
  // The last one: a model whose levels change teaches anew.
  const lesson = [...lessons].findLast((word) => word.startsWith(EFFORTS))
  return lesson?.slice(EFFORTS.length).split(',').filter(isEffort)
}

/** What this upstream takes of a Turn, as far as it is known of the model. */
export function responsesAccepts(lessons: ReadonlySet<string>): TurnAccepts {
  return { toolName: 64, callId: 64, customTools: !lessons.has(NO_CUSTOM_TOOLS), webSearch: true, stop: false }
}
