import { z } from 'zod'

/** One answer of a scripted model. */
const scriptStepSchema = z.strictObject({
  text: z.string().optional(),
  calls: z
    .array(
      z.strictObject({
        tool: z.string(),
        args: z.unknown().optional(),
        /** The arguments as they are, e.g. broken JSON. */
        raw: z.string().optional(),
      }),
    )
    .optional(),
  /** The request fails, for all models or those named. */
  error: z
    .strictObject({
      status: z.int().min(400).max(599),
      code: z.string().optional(),
      models: z.array(z.string()).optional(),
    })
    .optional(),
  /** The answer ends at the output limit. */
  cut: z.boolean().optional(),
  /** The step is repeated without end. */
  forever: z.boolean().optional(),
})
export type ScriptStep = z.infer<typeof scriptStepSchema>

const scriptSchema = z.array(scriptStepSchema).min(1)

/** @param given JSON */
export function parseScript(given: string): readonly ScriptStep[] | undefined {
  try {
    return scriptSchema.parse(JSON.parse(given))
  } catch {
    return undefined
  }
}
