// The page with the folder sets.

import { onKey } from "./keys.js";
import { ReviewPage, listDecisions } from "./review.js";
import { rulesDialog } from "./rules.js";

const DIGITS = [..."123456789"];

export function start() {
  const page = new ReviewPage("/same-folders", () => {});
  const chooseRules = rulesDialog();
  const set = () => Number(page.current()?.dataset.set);
  const keep = (folders) => page.decide({ set: set() }, { folders });
  const acts = {
    only: ({ ordinal }) => keep([Number(ordinal)]),
    several: () => {
      const ticked = page.detailBox.querySelectorAll("[data-folder]:checked");
      keep([...ticked].map((box) => Number(box.dataset.folder)));
    },
    leave: () => page.decide({ set: set() }, { leave: true }),
    withdraw: ({ decision }) => page.withdraw({ id: Number(decision) }),
    rules: async () => {
      await page.settled();
      if (!page.current()) return;
      const [chosen, state] = [set(), page.state()];
      chooseRules({
        title: "Decide all groups in these folders",
        query: () => ({ revision: state.revision, set: chosen }),
        save: (choice) => page.decide({ set: chosen }, choice, state),
      });
    },
  };
  page.detailBox.addEventListener("click", (event) => {
    const { dataset } = event.target.closest("[data-act]") ?? {};
    if (dataset && page.current()) acts[dataset.act]?.(dataset);
  });
  onKey(DIGITS, "Keep the files in this folder", ({ key }) => {
    const ordinal = Number(key) - 1;
    if (page.current()?.querySelector(`[data-act=only][data-ordinal="${ordinal}"]`)) keep([ordinal]);
  });
  onKey("x", "Leave these files alone", () => page.current() && acts.leave());
  onKey("g", "Go to the groups", () => location.assign("/groups"));
  listDecisions(page);
}
