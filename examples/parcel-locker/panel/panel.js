// The panel: what a person sees and touches.

export class Panel {
  constructor(screen) {
    this.screen = screen;
    this.onMains = true;
  }

  doorOpened(box) {
    //= docs/spec/locker.md#fetching
    //# The panel SHOULD show which box is open until its door is shut.
    this.screen.show(`Box ${box} is open`);
  }

  doorShut() {
    this.screen.show("Enter your code");
  }

  idle() {
    //= docs/spec/locker.md#power
    //# The locker MAY darken the panel to save power.
    if (!this.onMains) {
      this.screen.darken();
    }
  }
}
