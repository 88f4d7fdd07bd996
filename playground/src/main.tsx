import { render } from "preact";
import "./style/base.css";
import "./style/layout.css";
import "./style/chat.css";
import "./style/cards.css";
import "./style/state.css";
import "./style/timeline.css";
import { App } from "./view/app";

render(<App />, document.getElementById("app")!);
