import { objectsOf, parseObject } from '../../../src/json/json.ts'

/** The tool with which a model reports its verdicts on the calls of an answer (src/translate/safeguards/check-request.ts). */
export const verdictTool = 'report_verdicts'

/** What the simulated classifier flags. */
const dangerous = /\brm -\w*r|\bgit push\b.*--force/

/** Arguments of the report on the calls that the prompt lists, one JSON value per line. */
export function verdictsOn(prompt: string): string {
  const calls = objectsOf(prompt.split('\n').map(parseObject)).filter(({ call }) => typeof call === 'number')
  const verdicts = calls.map(({ call, arguments: given }) => {
    const isDangerous = dangerous.test(JSON.stringify(given))
    const reason = isDangerous
      ? 'It deletes or overwrites what cannot be restored (simulated).'
      : 'Harmless (simulated).'
    return { call, outcome: isDangerous ? 'flagged' : 'not_flagged', reason }
  })
  return JSON.stringify({ verdicts })
}
