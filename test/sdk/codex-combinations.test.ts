import { judge } from './judge.ts'
import { codexKinds } from './kinds.ts'
import { aiSpeakers } from './speakers/ai-sdk.ts'
import { anthropicMessages } from './speakers/anthropic.ts'
import { openaiChat } from './speakers/openai-chat.ts'
import { openaiResponses } from './speakers/openai-responses.ts'

for (const speaker of [openaiChat, openaiResponses, anthropicMessages, ...aiSpeakers]) {
  for (const kind of codexKinds) judge(speaker, kind)
}
