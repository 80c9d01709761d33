const settings = { "the seperate key": 7 };
switch ("we " + "recieve it") {
  case "we recieve it":
    console.log("case", settings["the seperate key"]);
}
console.log("an error occured here".includes("an error occured"));
console.error("The goverment answers after a while.");
