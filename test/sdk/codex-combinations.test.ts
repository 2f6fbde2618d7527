import { judge } from './judge.ts'
import { codexKinds } from './kinds.ts'
import { aiSpeakers } from './speakers/ai-sdk.ts'
import { anthropicMessages } from './speakers/anthropic.ts'
import { openaiChat } from './speakers/openai-chat.ts'
import { openaiResponses } from './speakers/openai-responses.ts'
import { some } from '../thorough.ts'

for (const [at, speaker] of [openaiChat, openaiResponses, anthropicMessages, ...aiSpeakers].entries()) {
  for (const kind of some(codexKinds, 4, at)) judge(speaker, kind)
}
